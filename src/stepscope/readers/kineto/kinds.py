"""What the events of a trace are: the kind of each, by category first and name second."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.arrays import Int8s, Int32s
from stepscope.facts.communication import communication_facts, communication_kernel
from stepscope.facts.kineto import kineto_facts
from stepscope.facts.pytorch import pytorch_facts
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.slices.pytorch import MODULE_PREFIX
from stepscope.readers.slices.slice_table import KIND
from stepscope.readers.slices.step_names import step_names
from stepscope.readers.trace_json.codes import Codes

_MARKING: Final = ("user_annotation", "cpu_op", "operator")


def kinds(category: Int32s, name: Int32s, categories: Codes, names: Codes) -> Int8s:
    """The kind of each event, by category first and name second."""
    by_category = np.array(
        [KIND[kind_of_category(text) or "annotation"] for text in categories.texts()] or [0], np.int8
    )
    kind = by_category[category] if len(category) else np.empty(0, np.int8)
    words = [text or "" for text in names.texts()] or [""]
    communicates = np.array([bool(communication_kernel().search(word)) for word in words])
    is_module = np.array([word.startswith(MODULE_PREFIX) for word in words])
    is_annotation = re.compile("|".join(pytorch_facts().annotations)).match
    prefixes = tuple(f"{backend}:" for backend in communication_facts().host_prefixes)
    is_host_collective = np.array([word.startswith(prefixes) for word in words])
    is_range = np.array([bool(is_annotation(word)) for word in words])
    is_collection = re.compile("|".join(pytorch_facts().garbage_collection)).match
    collects = np.array([bool(is_collection(word)) for word in words])
    # Until about torch 1.11, marks of the host had the category of operators.
    on_host = np.array([(text or "").lower() in _MARKING for text in categories.texts()] or [False])[category]
    _set_device_events(kind, category, name, categories, words)
    kind[(kind == KIND["kernel"]) & communicates[name]] = KIND["collective"]
    kind[(kind == KIND["python"]) & is_module[name]] = KIND["module"]
    kind[on_host & is_range[name]] = KIND["annotation"]
    kind[(on_host | (kind == KIND["python"])) & collects[name]] = KIND["gc"]
    used_on_host = np.zeros(len(words), np.bool_)
    used_on_host[name[on_host]] = True
    kind[on_host & step_names(words, used_on_host)[name]] = KIND["step"]
    kind[on_host & is_host_collective[name]] = KIND["collective"]
    return kind


def _set_device_events(kind: Int8s, category: Int32s, name: Int32s, categories: Codes, words: list[str]) -> None:
    """Set the kind of events that share the category of kernels and are none."""
    patterns = kineto_facts().device_events
    for code, text in enumerate(categories.texts()):
        for pattern, meant in patterns.get((text or "").lower(), {}).items():
            fits = np.array([bool(re.search(pattern, word)) for word in words])
            kind[(category == code) & fits[name]] = KIND[meant]
