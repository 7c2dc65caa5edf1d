# SPDX-License-Identifier: Apache-2.0
"""The KTH report's figures; bench/run flow_tables measures and draws them."""

from bench.papers.redrawn import REDRAWN, STANDS_IN, Figure

TWO_CORES = (
    "One and two cores are measured; four to eight are a model from measured cycles. The benchmark compares what "
    "the report's text states."
)


def own(number):
    """bench/run flow_tables draws this figure itself; its SVG is taken as it is."""

    def draw(results, stated):
        return f"flow_tables_figure{number.replace('.', '')}.svg", []

    return draw


FIGURES = tuple(
    Figure("kth", number, title, state, ("flow_tables",), own(number), TWO_CORES, *more)
    for number, title, state, *more in (
        (
            "5.1",
            "throughput by cores: shared tables and one per core",
            STANDS_IN,
            "one and two cores, and a model of more",
            "The machine has two cores and no network card.",
        ),
        (
            "5.2",
            "where cycles go with a mutex",
            STANDS_IN,
            "cycles by part on one and two cores",
            "The machine has two cores.",
        ),
        ("5.3", "delay at 65 and 95 % of the table", REDRAWN),
        ("5.4", "throughput by load factor, one core", REDRAWN),
        ("5.5", "where cycles go, one core", REDRAWN),
        (
            "5.6",
            "throughput by load factor, several cores",
            STANDS_IN,
            "one and two cores, and a model of more",
            "The machine has two cores.",
        ),
        (
            "5.7",
            "throughput by offered rate and cores",
            STANDS_IN,
            "one and two cores, and a model of more",
            "The machine has two cores and no network card.",
        ),
    )
)
