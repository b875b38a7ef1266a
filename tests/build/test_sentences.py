import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwalk.build.sentences import sentence_ends


def split(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[a:b].strip() for a, b in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "One here. | Two there! | Three? | Four.",
        "It is so… | Then it went on.",
        "Mr. Smith met Dr. Jones at St. Paul's. | They talked.",
        "J. R. R. Tolkien wrote it. | It sold well.",
        "He moved to the U.S. in May. | There he stayed.",
        "He moved to the U.S. | The weather was fine.",
        "World War I. | The war ended.",
        "It costs 3.50 dollars. | That is 1,000.5 yen.",
        "Version 2.0 came out. | 7 people came.",
        "It grew (see e.g. Darwin). | It died.",
        'He said "Stop." | Then he left.',
        "“Really?” | “Yes.” | So it was.",
        "(It was late.) | Nobody came.",
        "Born c. 1850 in Rome. | Died 1901.",
        "Acme Inc. Sells things, they say.",
        "See vol. 3, no. 7, pp. 3. | Next.",
        "Er kam am 3. | Mai z.B. Nach Rom.",
        "What?! | No way.",
        "Die Straße war nass. | Über Nacht fror es.",
        "Это первое. | Это второе.",
        "他来了。 | 她走了！ | 为什么？ | 不知道",
        "「行くよ。」と言った。 | 「来い！」 | 彼は行った。",
        "他说：“我来了。” | 她走了（真的。） | 是吗？！ | 是的。",
        "『本当（か？）』 | そうだ。",
        "यह पहला है। | यह दूसरा है॥ | और तीसरा",
        "هل جاء؟ | نعم جاء. | ثم ذهب.",
        "یہ پہلا ہے۔ | یہ دوسرا ہے۔",
        "Առաջինը։ | Երկրորդը։",
        "В 1990 г. в Москве жил т. е. был. | Это всё.",
        "Vers 1900 env. à Paris. | Été.",
        "Dzims 1919 g. šeit. | Ļaudis.",
        "No end here",
        "example.com is a site. | It works.",
        "The end of the end. but not of this",
    ],
)
def test_a_table_of_cases(text: str) -> None:
    parts = [part.strip() for part in text.split(" | ")]
    plain = text.replace(" | ", "" if "。" in text else " ")
    assert split(plain) == parts


@given(st.text(alphabet="aB .!?…\"'”)(1é。」\u00a0", max_size=60))
def test_ends_ascend_to_the_end_of_the_text(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
    assert all(end > 0 for end in ends) or not text


def test_linear_time() -> None:
    for unit in (".", "A. ", "a" * 50 + ". B", '."', "。", ". ", "(((", "U.S."):
        began = time.perf_counter()
        sentence_ends(unit * 100_000)
        assert time.perf_counter() - began < 5, unit
