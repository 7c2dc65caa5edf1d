# SPDX-License-Identifier: Apache-2.0
"""Parses Prometheus' text format as a scraper does, and rejects what node_exporter or a linter would."""

from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, tuple[tuple[str, str], ...]]


def read(text: str) -> dict[Sample, float]:
    """Name and labels of each sample, and its value."""
    samples: dict[Sample, float] = {}
    headers = Counter(tuple(line.split(" ", 3)[1:3]) for line in text.splitlines() if line.startswith("#"))
    assert text.endswith("\n")
    for family in text_string_to_metric_families(text):
        assert family.type in ("counter", "gauge"), family
        assert family.documentation.endswith("."), family
        for sample in family.samples:
            assert headers["HELP", sample.name] == headers["TYPE", sample.name] == 1, sample.name
            assert sample.name.endswith("_total") == (family.type == "counter"), sample.name
            identity = (sample.name, tuple(sorted(sample.labels.items())))
            assert identity not in samples, f"{identity} stands there twice"
            samples[identity] = sample.value
    return samples
