"""Rooms and floors: what may import what, how long a module may be, and that public things say what they are.

The floors are those of docs/architecture.md. A new module is given its floor here, on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "psychoedu"
MAX_LINES = 500
KERNEL_FLOOR, RESULTS_FLOOR, VERBS_FLOOR, TOP_FLOOR = 3, 5, 6, 7

FLOORS = {
    1: "_typing _version exceptions markup",
    2: """persistence validation responses response_codes response_data response_errors response_files response_readers
          response_repeats response_selection response_summary model_conditions cdm.q_matrix cdm.coders""",
    3: """proportions runners.rules.agreement runners.rules.grading runners.rules.letters runners.rules.replies
          runners.rules.rewards runners.rules.statements
          bootstrap.resampling bootstrap.corrections bootstrap.intervals bootstrap.ranking
          bootstrap.rank_correlation bootstrap.decision_study bootstrap.variance_components cdm.likelihood cdm.conditions
          cdm.memory cdm.profiles cdm.limited_information cdm.moments cdm.multiplicity cdm.pair_fit cdm.pvaf cdm.stepwise
          cdm.wald cdm.monotone cdm.models cdm.structures cdm.populations cdm.persons irt.blocks irt.classical
          irt.derivatives irt.empirical irt.information irt.likelihood irt.mode irt.models irt.packing irt.population
          irt.posterior irt.quadrature standard_setting.agreement standard_setting.decisions standard_setting.joint_draws
          standard_setting.locations standard_setting.weighted_scores standard_setting.curve_inverse""",
    4: """runners.rules runners.rules.judgements
          bootstrap.streams bootstrap.design bootstrap.reading bootstrap.plan bootstrap.engine bootstrap.analysis
          bootstrap.pairing bootstrap.group_means cdm.item_step cdm.em cdm.information cdm.newton cdm.starts cdm.fitting
          irt.checks irt.covariance irt.estimation irt.fitting irt.objective irt.parameters irt.priors irt.reliability
          irt.scoring irt.starting_values irt.fit irt.linking irt.dif standard_setting.logistic_cuts""",
    5: """bootstrap.generalizability_results bootstrap.described bootstrap.results bootstrap.paper bootstrap.tables
          bootstrap.serialise bootstrap.bootstrapped bootstrap.comparison bootstrap.leaderboard_parts
          bootstrap.leaderboard_results bootstrap.leaderboard_saved bootstrap.leaderboard_text bootstrap.lowest_results
          bootstrap.lowest_text cdm.hierarchy cdm.identifiability cdm.fitted cdm.profile_table cdm.results cdm.serialise
          cdm.summary irt.bank irt.bank_table irt.results irt.scores irt.serialise irt.summary irt.linking_constants
          standard_setting.scales standard_setting.booklet standard_setting.placements standard_setting.panel
          standard_setting.cut_scores standard_setting.raw_scores standard_setting.cut_summary standard_setting.serialise
          standard_setting.levels standard_setting.uncertainty standard_setting.level_summary standard_setting.reading_bias
          standard_setting.judged_levels standard_setting.error_parts standard_setting.angoff_table
          standard_setting.angoff_cuts standard_setting.angoff_theta""",
    6: """irt cdm standard_setting bootstrap bootstrap.generalizability bootstrap.power bootstrap.contrast bootstrap.compare
          bootstrap.anything bootstrap.item_weights bootstrap.leaderboard bootstrap.leaderboard_table bootstrap.lowest
          cdm.accuracy cdm.fit cdm.mastery_table cdm.q_validation cdm.selection cdm.sensitivity cdm.diagnose cdm.compare
          cdm.wrapping cdm.bootstrap_errors cdm.resampled irt.calibrate irt.preparation irt.score irt.simulate irt.wrapping
          irt.resampled standard_setting.accuracy standard_setting.angoff standard_setting.annotations
          standard_setting.bookmark standard_setting.classify standard_setting.examinees standard_setting.impact
          standard_setting.level_table standard_setting.facilitator standard_setting.jackknife standard_setting.joint""",
    7: """stored cli cli_contrast cli_diagnose cli_values datasets demo demo_contrasts demo_diagnosis plots report runners
          cli_levels cli_files demo_levels demo_runners
          bootstrap.plots bootstrap.leaderboard_plots cdm.plots report.contrast
          report.diagnosis report.html report.page report.panel_form report.panel_common report.facilitator_page
          report.levels standard_setting.plots standard_setting.plot_labels cli_run cli_import runners.aligned
          runners.aligned.certification runners.aligned.comparative runners.aligned.diagnostic
          runners.aligned.diagnostic_tables runners.aligned.evaluation runners.aligned.exemplars
          runners.aligned.grading runners.aligned.items runners.aligned.judge runners.aligned.neuromyths
          runners.aligned.prompts runners.banks runners.banks.bank runners.banks.fields runners.banks.keys
          runners.banks.option_text runners.banks.pairs runners.banks.question_rows runners.banks.questions
          runners.banks.scenarios runners.banks.statements runners.banks.tables runners.banks.works
          runners.benchmarks runners.condition_variance runners.csebench runners.csebench.benchmark
          runners.csebench.prompts runners.csebench.tables runners.importers runners.importers.archive
          runners.importers.content runners.importers.discover runners.importers.helm runners.importers.inspect_log
          runners.importers.inspect_samples runners.importers.inspect_scores runners.importers.join
          runners.importers.lm_eval runners.importers.py_irt runners.importers.read runners.importers.sniff
          runners.importers.tables runners.inspect_set runners.item_statistics runners.logs runners.measures
          runners.plan runners.prompt_hash runners.provenance runners.records runners.records_files
          runners.records_frame runners.records_matrix runners.records_tables runners.run runners.settings
          runners.simulated runners.simulated_asked runners.simulated_names runners.simulated_prompts
          runners.simulated_replies runners.tasks runners.tasks._registry runners.tasks.aligned_certification
          runners.tasks.aligned_common runners.tasks.aligned_comparative runners.tasks.aligned_diagnostic
          runners.tasks.aligned_grading runners.tasks.aligned_neuromyths runners.tasks.csebench runners.tasks.mcq
          runners.tasks.simulated_provider runners.tasks.failures""",
}
FLOOR_OF = {module: floor for floor, modules in FLOORS.items() for module in modules.split()}

IMPORTED_WHERE_NEEDED = frozenset(
    "joblib torch pyro pyro_ppl py_irt girth mirt inspect_ai openai zstandard matplotlib statsmodels pyarrow IPython".split()
)
"""Packages that only a function that needs them may import."""

TASKS = "runners.tasks"
KNOW_INSPECT = frozenset({"runners.inspect_set"})
"""Modules outside the tasks whose functions call inspect_ai."""

NOT_IN_KERNELS = frozenset("pandas io os pathlib json csv gzip pickle logging random sys tempfile tqdm warnings".split())


@dataclass(frozen=True)
class Import:
    """One imported module: by whom, on which line, and whether it runs when the importing module is loaded."""

    importer: str
    target: str
    line: int
    at_load: bool


def name_of(path: Path) -> str:
    """Return "irt.bank" for psychoedu/irt/bank.py, "irt" for psychoedu/irt/__init__.py, "" for psychoedu/__init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def is_type_checking(node: ast.AST) -> bool:
    """Tell whether a node is the block that type checkers alone read."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(node: ast.AST, at_load: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield import statements with whether they run at load; those for type checkers are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_load
        elif is_type_checking(child):
            assert isinstance(child, ast.If)
            yield from statements(ast.Module(child.orelse, []), at_load)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from statements(child, at_load and not inside)


def absolute(module: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a ``from`` statement reads from."""
    if not node.level:
        return node.module or ""
    is_package = MODULES[module].name == "__init__.py"
    parents = ["psychoedu", *module.split(".")] if module else ["psychoedu"]
    kept = parents[: len(parents) - node.level + (1 if is_package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imports_of(module: str) -> list[Import]:
    """List what a module imports; ``from package import submodule`` names the submodule."""
    found = []
    for node, at_load in statements(TREES[module]):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            assert isinstance(node, ast.ImportFrom)
            source = absolute(module, node)
            inner = source.removeprefix("psychoedu").removeprefix(".")
            targets = []
            for alias in node.names:
                submodule = f"{inner}.{alias.name}" if inner else alias.name
                ours = source.split(".")[0] == "psychoedu"
                targets.append(f"psychoedu.{submodule}" if ours and submodule in MODULES else source)
        found += [Import(module, target, node.lineno, at_load) for target in targets]
    return found


IMPORTS = [imported for module in MODULES for imported in imports_of(module)]


def inner_name(target: str) -> str | None:
    """Return "irt.bank" for psychoedu.irt.bank, and None for other packages."""
    if target.split(".")[0] != "psychoedu":
        return None
    return target.removeprefix("psychoedu").removeprefix(".")


def show(imports: list[Import]) -> str:
    """Write offending imports one a line."""
    return "\n".join(f"psychoedu.{item.importer} line {item.line} imports {item.target}" for item in imports)


def test_the_reader_of_imports_sees_what_runs_when() -> None:
    code = """
import numpy
if TYPE_CHECKING:
    import torch
else:
    import scipy
try:
    import tqdm
except ImportError:
    pass
class A:
    import json
    def method(self):
        import matplotlib
"""
    seen = {(ast.unparse(node).split()[1], at_load) for node, at_load in statements(ast.parse(code))}
    assert seen == {("numpy", True), ("scipy", True), ("tqdm", True), ("json", True), ("matplotlib", False)}


def test_every_module_has_a_floor() -> None:
    homeless = sorted(set(MODULES) - set(FLOOR_OF) - {""})
    assert not homeless, f"give these modules a floor in FLOORS and in docs/architecture.md: {homeless}"


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_imports_go_down() -> None:
    """At load a module imports from its own floor or below; what a result shows or draws it may import when asked."""
    offending = []
    for item in IMPORTS:
        target = inner_name(item.target)
        if target not in FLOOR_OF or item.importer not in FLOOR_OF:
            continue  # the test above names those without a floor; psychoedu/__init__.py may look everywhere
        upward = FLOOR_OF[target] > FLOOR_OF[item.importer]
        if upward and (item.at_load or FLOOR_OF[item.importer] < RESULTS_FLOOR):
            offending.append(item)
    assert not offending, show(offending)


def test_no_module_imports_the_front_door() -> None:
    """``import psychoedu`` inside the package would hide what depends on what."""
    offending = [item for item in IMPORTS if inner_name(item.target) == "" and item.importer]
    assert not offending, show(offending)


def test_kernels_are_pure() -> None:
    offending = [
        item for item in IMPORTS if FLOOR_OF.get(item.importer) == KERNEL_FLOOR and item.target.split(".")[0] in NOT_IN_KERNELS
    ]
    assert not offending, show(offending)


def test_kernels_open_no_file_and_draw_no_number() -> None:
    forbidden = {"open", "print", "input", "default_rng"}
    offending = []
    for module, tree in TREES.items():
        if FLOOR_OF.get(module) != KERNEL_FLOOR:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if called in forbidden:
                    offending.append(f"psychoedu.{module} line {node.lineno} calls {called}")
    assert not offending, offending


def test_only_verbs_warn() -> None:
    offending = [
        f"psychoedu.{module} line {node.lineno} warns"
        for module, tree in TREES.items()
        if FLOOR_OF.get(module, TOP_FLOOR) < VERBS_FLOOR
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"warn", "warn_explicit"}
    ]
    assert not offending, offending


def test_models_know_no_runner() -> None:
    offending = [
        item
        for item in IMPORTS
        if item.importer.split(".")[0] in {"irt", "cdm"} and (inner_name(item.target) or "").split(".")[0] == "runners"
    ]
    assert not offending, show(offending)


def test_bootstrap_knows_no_model() -> None:
    offending = [
        item
        for item in IMPORTS
        if item.importer.split(".")[0] == "bootstrap" and (inner_name(item.target) or "").split(".")[0] in {"irt", "cdm"}
    ]
    assert not offending, show(offending)


def is_task(module: str) -> bool:
    """Tell whether a module belongs to the room of Inspect's tasks, which Inspect itself loads."""
    return module == TASKS or module.startswith(f"{TASKS}.")


def test_heavy_packages_are_imported_where_needed() -> None:
    offending = [
        item
        for item in IMPORTS
        if item.at_load
        and item.target.split(".")[0] in IMPORTED_WHERE_NEEDED
        and not (item.target.split(".")[0] == "inspect_ai" and is_task(item.importer))
    ]
    assert not offending, show(offending)


def test_nothing_loads_the_tasks_but_the_tasks() -> None:
    offending = [
        item for item in IMPORTS if item.at_load and is_task(inner_name(item.target) or "") and not is_task(item.importer)
    ]
    assert not offending, show(offending)


def test_only_who_runs_something_knows_inspect() -> None:
    """Rules, banks, records and importers do without inspect_ai, inside functions as well."""
    offending = [
        item
        for item in IMPORTS
        if item.target.split(".")[0] == "inspect_ai" and not is_task(item.importer) and item.importer not in KNOW_INSPECT
    ]
    assert not offending, show(offending)


def test_no_global_random_state() -> None:
    """Only Generator objects: no numpy.random.seed, numpy.random.normal, random.random."""
    allowed = {"default_rng", "Generator", "SeedSequence", "BitGenerator", "PCG64", "SFC64", "mtrand"}
    offending = []
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or node.attr in allowed:
                continue
            if ast.unparse(node.value) in {"np.random", "numpy.random"}:
                offending.append(f"psychoedu.{module} line {node.lineno}: {ast.unparse(node)}")
    offending += [f"psychoedu.{item.importer} line {item.line}: random" for item in IMPORTS if item.target == "random"]
    assert not offending, offending


def test_only_the_command_line_prints() -> None:
    offending = [
        f"psychoedu.{module} line {node.lineno}"
        for module, tree in TREES.items()
        if module != "cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not offending, offending


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "psychoedu")
def test_module_has_one_subject(module: str) -> None:
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{lines} lines: find the second subject in it"


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "psychoedu")
def test_public_things_have_docstrings(module: str) -> None:
    tree = TREES[module]
    missing = [] if ast.get_docstring(tree) else ["the module"]
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if not isinstance(node, kinds) or node.name.startswith("_"):
            continue
        inner = node.body if isinstance(node, ast.ClassDef) else []
        members = [child for child in inner if isinstance(child, kinds) and not child.name.startswith("_")]
        missing += [f"{item.name} (line {item.lineno})" for item in [node, *members] if not ast.get_docstring(item)]
    assert not missing, missing
