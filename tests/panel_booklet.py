"""A booklet for the pages of a bookmark panel: invented grammar items with invented parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import psychoedu as pe
from psychoedu.standard_setting.booklet import OrderedItemBooklet, booklet

LEVELS = ("CSE-3", "CSE-4", "CSE-5", "CSE-6")

DESCRIPTORS = {
    "CSE-3": "Has just begun to use the present and the past with some control, mostly in short main clauses.",
    "CSE-4": "Joins clauses with common conjunctions; the perfect and the passive are right when the sentence is short.",
    "CSE-5": "Handles relative clauses, conditionals and reported speech in familiar topics, with slips in longer sentences.",
    "CSE-6": "Uses inversion, the subjunctive and reduced clauses where they are asked for; errors are rare and often noticed.",
}

ITEMS = """
My sister ____ to school by bus every day. | go / goes / going / gone | B | tense | 3
There ____ three apples on the table. | is / am / are / be | C | agreement | 3
She is ____ than her brother. | tall / taller / tallest / more tall | B | comparison | 3
We ____ football when it began to rain. | play / are playing / were playing / have played | C | tense | 3
He has lived here ____ 2015. | for / since / from / in | B | preposition | 3
I do not have ____ money with me. | many / some / any / a few | C | determiner | 3
____ you ever seen a whale? | Did / Have / Are / Do | B | tense | 3
The letter ____ by the headmaster yesterday. | wrote / was written / has written / is writing | B | voice | 4
If it ____ tomorrow, the match will be put off. | rain / rains / rained / will rain | B | conditional | 4
The boy ____ bag was stolen went to the police. | who / which / whose / whom | C | relative clause | 4
She asked me where ____ the day before. | did I go / I had gone / have I gone / I go | B | reported speech | 4
You ____ park here: look at the sign. | needn't / mustn't / don't have to / might not | B | modal verb | 4
He was so tired ____ he fell asleep at once. | as / than / that / which | C | conjunction | 4
I look forward to ____ from you. | hear / hearing / be heard / have heard | B | verb form | 4
By the time we arrived, the film ____. | started / has started / had started / was starting | C | tense | 4
Neither the pupils nor the teacher ____ the answer. | know / knows / are knowing / have known | B | agreement | 4
It was in Nanjing ____ they first met. | where / which / that / when | C | cleft sentence | 5
He avoided ____ about the accident. | to be asked / being asked / to ask / be asked | B | verb form | 5
If I ____ you were ill, I would have visited you. | know / knew / had known / have known | C | conditional | 5
The bridge is said ____ in the tenth century. | to build / to be built / to have been built / being built | C | verb form | 5
____ from the tower, the town looks like a toy. | See / Seeing / Seen / To see | C | participle | 5
She would rather you ____ there alone. | don't go / didn't go / not go / won't go | B | subjunctive | 5
Much ____ I respect him, I cannot agree. | although / as / however / since | B | conjunction | 5
There is no point ____ over it now. | to argue / in arguing / argue / for arguing | B | verb form | 5
The reason ____ he gave did not persuade anyone. | why / that / for which / because | B | relative clause | 5
Hardly ____ sat down when the bell rang. | I had / had I / did I / I have | B | inversion | 6
It is vital that every form ____ by hand. | is signed / be signed / will be signed / signs | B | subjunctive | 6
____ it not for the noise, this would be a fine room. | Was / If / Were / Had | C | inversion | 6
Not only ____ late, but he also forgot the keys. | he was / was he / he had been / did he be | B | inversion | 6
The weather ____, we shall eat outside. | permits / permitting / permitted / to permit | B | absolute phrase | 6
So little ____ of the matter that she kept silent. | she knew / knew she / did she know / she did know | C | inversion | 6
He spoke as though he ____ there himself. | was / has been / had been / would be | C | subjunctive | 6
Under no circumstances ____ the door unlocked. | you should leave / should you leave / you leave / leave you | B | inversion | 6
____ to win, she was astonished to come third. | Expecting / Expected / To expect / Having expected | A | participle | 6
"""


def item_table() -> pd.DataFrame:
    """Return text, options, key, subskill and level by item."""
    rows = [[part.strip() for part in line.split("|")] for line in ITEMS.strip().splitlines()]
    frame = pd.DataFrame(rows, columns=["stem", "options", "key", "subskill", "level"])
    choices = [
        "\n".join(f"{letter}. {choice.strip()}" for letter, choice in zip("ABCD", options.split(" / "), strict=True))
        for options in frame["options"]
    ]
    table = pd.DataFrame(
        {"text": [f"{stem}\n{choice}" for stem, choice in zip(frame["stem"], choices, strict=True)]},
        index=pd.Index([f"G{number:02d}" for number in range(1, len(frame) + 1)], name="item"),
    )
    return table.assign(
        key=frame["key"].to_numpy(), subskill=frame["subskill"].to_numpy(), level=("CSE-" + frame["level"]).to_numpy()
    )


def grammar_booklet(response_probability: float = 0.67, items: pd.DataFrame | None = None) -> OrderedItemBooklet:
    """Return a booklet of the invented items, or of as many as the given table has rows."""
    table = item_table() if items is None else items
    count = len(table)
    discrimination = 0.8 + 0.7 * (np.arange(count) * 7 % 10) / 10.0
    difficulty = np.linspace(-1.9, 2.1, count) + 0.15 * np.sin(3.0 * np.arange(count))
    bank = pe.ItemBank(pd.DataFrame({"discrimination": discrimination, "difficulty": difficulty}, index=table.index))
    return booklet(bank, response_probability, items=table)


@dataclass(frozen=True)
class Panel:
    """Pages of a panel by round and panellist, in the order of LEVELS."""

    pages: dict[int, dict[str, list[int]]]

    def frame(self, fingerprint: str, rounds: Any = None, panellist: str | None = None) -> pd.DataFrame:
        """Return the placements as a long table, of some rounds or of one panellist where asked."""
        rows = [
            [name, number, level, page, fingerprint]
            for number, placed in self.pages.items()
            if rounds is None or number in rounds
            for name, pages in placed.items()
            if panellist is None or name == panellist
            for level, page in zip(LEVELS, pages, strict=True)
        ]
        return pd.DataFrame(rows, columns=["panellist", "round", "level", "page", "booklet"])


PANEL = Panel(
    {
        1: {"Teacher A": [5, 14, 22, 30], "Teacher B": [8, 15, 25, 29], "教师 C": [0, 12, 25, 33]},
        2: {"Teacher A": [6, 14, 23, 30], "Teacher B": [7, 15, 24, 29], "教师 C": [4, 13, 24, 31]},
    }
)
"""Three panellists and two rounds; one bookmark of round 1 is open-ended."""
