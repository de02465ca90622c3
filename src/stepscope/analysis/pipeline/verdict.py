"""What holds the training up: the decision tree of docs/metrics/pipeline.md (rules F without, S with a data sink)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stepscope.analysis.pipeline.costs import Costs
from stepscope.analysis.pipeline.gain import potential
from stepscope.analysis.pipeline.locate import Culprit, inline_culprit, locate
from stepscope.analysis.pipeline.loop import Loop
from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.processors import Processors
from stepscope.analysis.pipeline.queues import Queues
from stepscope.analysis.pipeline.structure import Bound, Evidence, Sentence, Verdict
from stepscope.facts.pipeline import pipeline_facts
from stepscope.texts.numbers import duration, percent


@dataclass(frozen=True)
class _Finding:
    bound: Bound
    rules: list[str]
    why: list[Sentence]
    advice: list[Sentence] = field(default_factory=list)
    culprit: Culprit | None = None
    certain: bool = True


def verdict_of(seen: Observed, loop: Loop, queues: Queues, processors: Processors, costs: Costs) -> Verdict:
    """The verdict on one rank."""
    judge = _Judge(seen, loop, queues, processors, costs)
    judgement = judge.sink() if seen.mode == "sink" else judge.feed()
    culprit = judgement.culprit or Culprit([], [])
    enough = loop.settled >= pipeline_facts().loop.least_certain
    gain = potential(seen, loop, costs, judgement.bound, culprit.op)
    return Verdict(
        rank=seen.rank,
        mode=seen.mode,
        bound=judgement.bound,
        certain=judgement.certain and culprit.certain and enough,
        rule=judgement.rules[-1] if judgement.rules else next(iter(culprit.rules), None),
        rules=[*judgement.rules, *culprit.rules],
        op=culprit.op,
        op_name=culprit.name,
        why=[*judgement.why, *culprit.why],
        advice=[*judgement.advice, *culprit.advice],
        period_us=loop.period_us,
        wait_share=loop.wait_share,
        interval_us=loop.interval_us,
        interval_share=loop.interval_share,
        potential_speedup=gain.speedup,
        limited_by=gain.limited_by,
        evidence=[*_evidence(loop), *culprit.evidence],
    )


@dataclass(frozen=True)
class _Judge:
    seen: Observed
    loop: Loop
    queues: Queues
    processors: Processors
    costs: Costs

    def sink(self) -> _Finding:
        """Rules S: the device takes from a queue of its own, which a thread of the host fills."""
        loop, limits = self.loop, pipeline_facts()
        starved = loop.starving.settled_share
        if starved is None:
            return self._without_device_queue()
        lost = [share for share in (loop.wait_share, loop.interval_share) if share is not None]
        harmed = not lost or max(lost) > limits.loop.least_wait_share
        if starved > limits.loop.largest_idle_starving_share and harmed:
            why = self._starving_sentence()
            empty = self._host_empty()
            if empty is None or empty > limits.queue.mostly_empty_share:
                return self._pipeline([*self._cache_rule(), "S2", "S4"], [why])
            ready = Sentence.of("pipeline_why.transfer_sink", empty=percent(empty), push=duration(loop.push_us))
            return _Finding("transfer", ["S2", "S3"], [why, ready], [Sentence.of("pipeline_advice.transfer_sink")])
        if not loop.interval_long:
            return _Finding("none", ["S1"], [Sentence.of("pipeline_why.none_sink")])
        gap = self._interval_sentence()
        getnext, interval = loop.getnext_us or 0.0, loop.interval_us or 0.0
        if getnext > limits.getnext.least_us or getnext > limits.getnext.least_interval_share * interval:
            slow = Sentence.of("pipeline_why.getnext", getnext=duration(getnext))
            return _Finding("getnext", ["S1"], [gap, slow], [Sentence.of("pipeline_advice.getnext")])
        late = Sentence.of("pipeline_why.user_code_sink")
        return _Finding("user_code", ["S1"], [gap, late], [Sentence.of("pipeline_advice.user_code_sink")])

    def _without_device_queue(self) -> _Finding:
        loop, limits = self.loop, pipeline_facts()
        empty = self._host_empty()
        waits = (
            loop.get_us is not None
            and loop.push_us is not None
            and loop.get_us > limits.loop.least_wait_share * (loop.get_us + loop.push_us)
        )
        harmed = loop.interval_long if loop.interval_long is not None else waits
        if harmed and empty is not None and empty > limits.queue.mostly_empty_share:
            why = [self._interval_sentence()] if loop.interval_long else []
            finding = self._pipeline(["S4"], [*why, Sentence.of("pipeline_why.host_queue", empty=percent(empty))])
            return replace(finding, certain=False)
        if loop.interval_long is False:
            return _Finding("none", [], [Sentence.of("pipeline_why.none_interval")], certain=False)
        return _Finding("unknown", [], [Sentence.of("pipeline_why.no_device_queue")], certain=False)

    def feed(self) -> _Finding:
        """Rules F: the training loop itself takes each batch."""
        loop, limits = self.loop, pipeline_facts()
        if loop.wait_share is None:
            return self._by_queues()
        late = loop.late_share or 0.0
        if loop.wait_share > limits.loop.least_wait_share and late > limits.loop.largest_idle_starving_share:
            why = self._starving_sentence()
            if loop.late_empty_share is None or loop.late_empty_share > limits.queue.mostly_empty_share:
                return self._pipeline([*self._cache_rule(), "F1"], [why])
            # A batch lay ready and taking it still took long.
            inside = inline_culprit(self.seen, self.queues, self.costs)
            if inside is not None:
                return _Finding("pipeline", ["F2"], [why], culprit=inside)
            ready = Sentence.of("pipeline_why.getnext_feed")
            return _Finding("getnext", ["F2"], [why, ready], [Sentence.of("pipeline_advice.getnext_feed")])
        if loop.interval_long:
            return self._between()
        return _Finding("none", [], [Sentence.of("pipeline_why.none_feed", share=percent(loop.wait_share))])

    def _between(self) -> _Finding:
        """Time between taking a batch and computing with it: the script's code, or copying to the device."""
        loop = self.loop
        gap = self._interval_sentence()
        if loop.copy_us is None:
            unknown = Sentence.of("pipeline_why.between_unknown")
            return _Finding("unknown", ["F2"], [gap, unknown], [Sentence.of("pipeline_advice.time_it")], certain=False)
        rest = loop.between_us
        if loop.copy_us >= rest:
            slow = Sentence.of("pipeline_why.transfer_feed", copy=duration(loop.copy_us))
            return _Finding("transfer", ["F2", "F4"], [gap, slow], [Sentence.of("pipeline_advice.transfer_feed")])
        slow = Sentence.of("pipeline_why.user_code_feed", rest=duration(rest), copy=duration(loop.copy_us))
        return _Finding("user_code", ["F2", "F3"], [gap, slow], [Sentence.of("pipeline_advice.user_code_feed")])

    def _by_queues(self) -> _Finding:
        """Nobody recorded how long the loop waited; only the queues speak."""
        limits = pipeline_facts().queue
        queues, empty = self.queues, self.queues.last_empty_share
        long = self.loop.interval_long
        if empty is None or (queues.rounds < limits.least_rounds and not long):
            why = Sentence.of("pipeline_why.few_samples", count=queues.rounds)
            return _Finding("unknown", [], [why], certain=False)
        if empty > limits.mostly_empty_share and long is not False:
            why = Sentence.of("pipeline_why.last_queue", empty=percent(empty), count=queues.rounds)
            return replace(self._pipeline(["F1"] if long else [], [why]), certain=False)
        if long:
            return self._between()
        uses = [queues.starving_use[stage.op] for stage in queues.way.stages]
        full = bool(uses) and min(uses) >= limits.high_use_share
        why = Sentence.of("pipeline_why.none_queues", empty=percent(empty), count=queues.rounds)
        return _Finding("none", ["D3"] if full else [], [why], certain=full)

    def _pipeline(self, rules: list[str], why: list[Sentence]) -> _Finding:
        return _Finding("pipeline", rules, why, culprit=locate(self.seen, self.queues, self.processors, self.costs))

    def _host_empty(self) -> float | None:
        own = self.loop.host_empty_share
        return own if own is not None else self.queues.last_empty_share

    def _cache_rule(self) -> list[str]:
        """S5: queues that filled before training hide a slow pipeline at first."""
        early, limit = self.loop.early_host_empty_share, pipeline_facts().queue.mostly_empty_share
        return ["S5"] if early is not None and early <= limit < (self.loop.host_empty_share or 0.0) else []

    def _starving_sentence(self) -> Sentence:
        loop, starving = self.loop, self.loop.starving
        counts = {"count": starving.count, "counted": starving.counted}
        if loop.wait_share is None:
            return Sentence.of("pipeline_why.starving", **counts)
        return Sentence.of(
            "pipeline_why.waits",
            wait=duration(loop.wait_us),
            period=duration(loop.period_us),
            share=percent(loop.wait_share),
            **counts,
        )

    def _interval_sentence(self) -> Sentence:
        loop = self.loop
        return Sentence.of(
            "pipeline_why.interval", interval=duration(loop.interval_us), share=percent(loop.interval_share)
        )


def _evidence(loop: Loop) -> list[Evidence]:
    limits = pipeline_facts()
    rows = (
        ("wait_share", loop.wait_share, "share", limits.loop.least_wait_share),
        ("interval_us", loop.interval_us, "us", limits.loop.least_interval_us),
        ("interval_share", loop.interval_share, "share", limits.loop.least_wait_share),
        ("starving_share", loop.starving.settled_share, "share", limits.loop.largest_idle_starving_share),
        ("host_queue_empty_share", loop.host_empty_share, "share", limits.queue.mostly_empty_share),
        ("device_queue_empty_share", loop.device_empty_share, "share", limits.loop.largest_idle_starving_share),
        ("get_us", loop.get_us, "us", None),
        ("push_us", loop.push_us, "us", None),
        ("copy_us", loop.copy_us, "us", None),
        ("getnext_us", loop.getnext_us, "us", limits.getnext.least_us),
    )
    return [Evidence(name, value, unit, baseline) for name, value, unit, baseline in rows if value is not None]
