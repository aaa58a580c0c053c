"""Settings of a run, and that no key gets into a file by way of them."""

from __future__ import annotations

import pytest

from psychoedu.exceptions import RunnerError
from psychoedu.runners.settings import Settings, as_settings, without_secrets

KEY = "sk-test-0123456789abcdef"


@pytest.mark.parametrize(
    "options",
    [
        {"model_args": {"api_key": KEY}},
        {"model_args": {"aws_secret_access_key": KEY}},
        {"generate": {"extra_headers": {"Authorization": f"Bearer {KEY}"}}},
        {"generate": {"extra_headers": {"x-api-key": KEY}}},
        {"base_url": f"https://me:{KEY}@models.example/v1"},
        {"base_url": f"https://models.example/v1?key={KEY}"},
        {"model_args": {"endpoint": f"https://me:{KEY}@models.example"}},
    ],
)
def test_keys_are_refused_and_not_repeated(options: dict[str, object]) -> None:
    with pytest.raises(RunnerError, match="environment variables") as caught:
        as_settings(options)
    assert KEY not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


def test_what_only_sounds_like_a_key_is_taken() -> None:
    kept = as_settings(
        {"generate": {"reasoning_tokens": 500}, "model_args": {"monkey": 1, "tokenizer": "x"}, "base_url": "http://h:1/v1"}
    )
    assert kept.answers == {"seed": None, "model_args": {"monkey": 1, "tokenizer": "x"}, "generate": {"reasoning_tokens": 500}}


def test_values_of_keys_are_taken_out_wherever_they_stand() -> None:
    environment = {"OPENAI_API_KEY": KEY, "HF_TOKEN": "hf_abcdefgh", "AUTHOR": "psychoedu", "MY_KEY": "short"}
    told = {"error": [f"401 for {KEY}", ("hf_abcdefgh", 3)], KEY: "psychoedu short"}
    assert without_secrets(told, environment) == {
        "error": ["401 for [removed]", ["[removed]", 3]],
        "[removed]": "psychoedu short",
    }
    assert without_secrets("see https://me:pw@host/v1 and me@host", {}) == "see https://[removed]@host/v1 and me@host"
    assert without_secrets(None) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_conections": 3}, "no settings 'max_conections'.*max_connections"),
        ({"generate": {"temperature": 1}}, "'temperature'.*benchmark"),
    ],
)
def test_misplaced_settings_are_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(RunnerError, match=said):
        as_settings(options)


@pytest.mark.parametrize("options", [{"max_connections": 0}, {"max_retries": -1}, {"log_format": "csv"}, {"log_realtime": 1}])
def test_impossible_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        as_settings(options)


def test_options_for_inspect_have_its_names_and_leave_out_what_is_not_set() -> None:
    options = Settings(max_connections=7, seed=3, generate={"reasoning_effort": "low"}).eval_set_options()
    assert options | {"max_connections": 7, "max_samples": 7, "seed": 3, "reasoning_effort": "low", "display": "none"} == options
    assert options["continue_on_fail"] is True  # a failed call is a missing answer, no end of the run
    assert "timeout" not in options
