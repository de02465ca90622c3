// Frame times for tests and measurements: `?probe` in the address turns it on; without it nothing is kept.
import type { RowPainter } from '../../timeline/draw/rows'
import type { TimelineStore } from './store.svelte'

interface Probe {
  frames: number[]
  walked: number
  lines: number
  missing: number
  labels: number
  idle: () => boolean
}

declare global {
  interface Window {
    timelineProbe?: Probe
  }
}

const on = new URLSearchParams(location.search).has('probe')

export const frameProbe = {
  record(ms: number, painter: RowPainter, store: TimelineStore): void {
    if (!on) return
    window.timelineProbe ??= { frames: [], walked: 0, lines: 0, missing: 0, labels: 0, idle: () => false }
    const probe = window.timelineProbe
    probe.frames.push(ms)
    probe.walked = painter.statistics.walked
    probe.lines = painter.statistics.lines
    probe.missing = painter.statistics.missing
    probe.labels = painter.labelsDrawn
    probe.idle = () => store.idle
  },
}
