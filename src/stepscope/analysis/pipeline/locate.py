"""Which stage of a slow pipeline is to blame, and what its processor time says (rules D)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from stepscope.analysis.pipeline.costs import Costs
from stepscope.analysis.pipeline.observed import Observed, StageFacts
from stepscope.analysis.pipeline.processors import Processors
from stepscope.analysis.pipeline.queues import Queues
from stepscope.analysis.pipeline.structure import Evidence, Sentence
from stepscope.facts.pipeline import pipeline_facts
from stepscope.texts.numbers import percent

#: Names of advice that a kind of stage can have, see ``kinds.advice`` of the facts.
_BY_KIND: Final = ("reader", "generator", "map", "batch", "shuffle", "loader", "other")


@dataclass(frozen=True)
class Culprit:
    """The slow stage and how it is named; None if it cannot be located."""

    rules: list[str]
    why: list[Sentence]
    op: int | None = None
    name: str | None = None
    certain: bool = True
    advice: list[Sentence] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


def locate(seen: Observed, queues: Queues, processors: Processors, costs: Costs) -> Culprit:
    """The stage with the fullest input compared with its output, while the training waited for data."""
    blame = queues.blame
    if not blame:
        return _without_queues(seen, queues, costs)
    limits = pipeline_facts()
    owner = max(blame, key=lambda op: blame[op])
    index = [stage.op for stage in queues.way.stages].index(owner)
    first = index == 0
    before = 1.0 if first else queues.starving_use[queues.way.stages[index - 1].op]
    after = queues.starving_use[owner]
    # Stages without a queue work in the same threads; recorded work tells them apart.
    together = [owner, *queues.way.stages[index].inline]
    op = costs.slowest(together, owner)
    stage, name = seen.stages[op], seen.stages[op].name
    of_loader = _advice_of_kind(stage, first) == "loader" and len(together) > 1
    if unseen := of_loader and not any(each in costs.us for each in together):
        name = "DataLoader"  # workers that were started before the recording: nobody knows which stage it is
    low = all(use < limits.queue.low_use_share for use in queues.starving_use.values())
    clear = blame[owner] > limits.queue.least_drop_share
    rule = ("D2" if low else "D1") if first else ("D1" if clear else "D0")
    shown = {"op": name, "before": percent(before), "after": percent(after)}
    reads = not queues.tree.children[op]
    kind = "reader" if reads else "first_stage" if first else "stage"
    why = Sentence.of(f"pipeline_why.{kind}", **shown)
    cores = processors.op_cores.get(op)
    processor_rules = list(_processor_rules(stage, cores, processors))
    return Culprit(
        [rule, *_rules_of_kind(stage), *(rule for rule, _ in processor_rules)],
        [why],
        op,
        name,
        clear and queues.starving_rounds >= limits.loop.least_certain,
        [
            Sentence.of(
                "pipeline_advice.loader_workers" if unseen else f"pipeline_advice.{_advice_of_kind(stage, first)}",
                op=name,
            ),
            *(text for _, text in processor_rules),
        ],
        [
            Evidence("input_use_share", before, "share", op=name),
            Evidence("output_use_share", after, "share", op=name),
            *_processor_evidence(stage, cores, processors),
        ],
    )


def inline_culprit(seen: Observed, queues: Queues, costs: Costs) -> Culprit | None:
    """A stage that runs while the training takes a batch: between the last queue and the loop."""
    transparent = pipeline_facts().kinds.transparent
    working = [op for op in queues.way.after if seen.stages[op].kind not in transparent]
    if not working:
        return None
    op = costs.slowest(working, working[-1])
    stage = seen.stages[op]
    advice = Sentence.of(f"pipeline_advice.{_advice_of_kind(stage, False)}", op=stage.name)
    why = Sentence.of("pipeline_why.inline", op=stage.name)
    rule = "D1" if queues.tree.children[op] else "D2"
    return Culprit([rule, *_rules_of_kind(stage)], [why], op, stage.name, advice=[advice])


def _without_queues(seen: Observed, queues: Queues, costs: Costs) -> Culprit:
    """No queue was watched: all stages run while the training takes a batch, or only the time in a loader is known."""
    names = pipeline_facts().slices
    alone = seen.gets["name"].str.contains(names.loader_in_main_process, literal=True).any()
    loader = names.loader_kind in {stage.kind for stage in seen.stages.values()}
    inside = inline_culprit(seen, queues, costs)
    if inside is not None and loader:
        why, advice = Sentence.of("pipeline_why.loader_main"), Sentence.of("pipeline_advice.loader_main")
        return replace(inside, why=[why, *inside.why], advice=[advice, *inside.advice])
    if inside is not None:
        return inside
    if seen.gets.is_empty():
        return Culprit([], [Sentence.of("pipeline_why.not_located")], certain=False)
    kind = "loader_main" if alone else "loader_workers"
    why, advice = Sentence.of(f"pipeline_why.{kind}"), Sentence.of(f"pipeline_advice.{kind}")
    return Culprit([], [why], name="DataLoader", advice=[advice])


def _processor_rules(stage: StageFacts, cores: float | None, processors: Processors) -> Iterator[tuple[str, Sentence]]:
    limits = pipeline_facts().processors
    workers, name = stage.workers, stage.name
    per_worker = None if cores is None else cores / workers
    busy = (processors.busy_share or 0.0) > limits.busy_machine_share
    crowded = (processors.system_share or 0.0) > limits.high_system_share and (processors.crowded_share or 0.0) > 0.5
    if busy:
        yield "D8", Sentence.of("pipeline_advice.busy_machine", busy=percent(processors.busy_share or 0.0))
    if crowded:
        yield "D10", Sentence.of("pipeline_advice.fewer_workers", system=percent(processors.system_share or 0.0))
    if (processors.other_share or 0.0) > limits.other_processes_share:
        yield "D11", Sentence.of("pipeline_advice.other_processes", other=percent(processors.other_share or 0.0))
    if busy or crowded:
        return
    if per_worker is not None and per_worker > limits.saturated_worker_share:
        yield "D12", Sentence.of("pipeline_advice.more_workers", op=name, use=percent(per_worker), workers=workers)
        return
    if per_worker is not None and per_worker < limits.idle_worker_share:
        yield "D13", Sentence.of("pipeline_advice.waiting_workers", op=name, use=percent(per_worker))
    idle = processors.user_share is not None and processors.user_share < limits.low_user_share
    if idle and workers <= limits.few_workers:
        yield "D9", Sentence.of("pipeline_advice.few_workers", op=name, workers=workers)


def _processor_evidence(stage: StageFacts, cores: float | None, processors: Processors) -> Iterator[Evidence]:
    limits = pipeline_facts().processors
    if cores is not None:
        share = cores / stage.workers
        yield Evidence("cpu_per_worker_share", share, "share", limits.saturated_worker_share, stage.name)
    if processors.busy_share is not None:
        yield Evidence("machine_busy_share", processors.busy_share, "share", limits.busy_machine_share)
    if processors.other_share is not None:
        yield Evidence("other_processes_share", processors.other_share, "share", limits.other_processes_share)


_KIND_RULES: Final = {"map": "D4", "generator": "D5", "batch": "D6", "shuffle": "D7"}


def _rules_of_kind(stage: StageFacts) -> list[str]:
    kind = _advice_of_kind(stage, False)
    return [_KIND_RULES[kind]] if kind in _KIND_RULES else []


def _advice_of_kind(stage: StageFacts, first: bool) -> str:
    kind = pipeline_facts().kinds.advice.get(stage.kind, "reader" if first else "other")
    return str(kind) if kind in _BY_KIND else "other"
