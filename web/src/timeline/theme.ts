// Colours of the canvas, from the same CSS variables as the page.
import { pack, namePalette, paletteOf, parseColour, type Palette } from './palette'

export interface CanvasTheme {
  readonly dark: boolean
  readonly background: string
  readonly lane: string
  readonly laneAlternate: string
  readonly heading: string
  readonly line: string
  readonly lineStrong: string
  readonly ink: string
  readonly inkSoft: string
  readonly accent: string
  readonly warning: string
  readonly critical: string
  readonly good: string
  readonly names: Palette
  readonly kinds: Palette
  readonly lanes: Palette
  readonly backgroundPixel: number
  readonly missingPixel: number
  /** One colour per kind of link. */
  readonly links: Readonly<Record<string, string>>
  readonly font: string
}

/** Lanes, then the causes of idle time, in the order of the names of a lane's tile. */
export const LANE_COLOURS = [
  '--compute',
  '--communication',
  '--exposed',
  '--copy',
  '--idle',
  '--idle-data',
  '--idle-host',
  '--idle-sync',
  '--idle-gc',
  '--idle-collective',
  '--idle-dependency',
  '--idle-profiler',
  '--idle-unknown',
] as const
/** The faintest shade of a lane: hardly anything, for a stretch that holds hardly anything. */
const FAINTEST_LANE = 0.03

const LINK_COLOURS: Readonly<Record<string, string>> = {
  launch: '--accent',
  operator_launch: '--compute',
  same_operator: '--compute',
  forward_backward: '--overlap',
  queue: '--copy',
  event_wait: '--warning',
  send_receive: '--communication',
  flow: '--data',
}

/** Read the theme; `variable` gives the value of a CSS variable. */
export function readTheme(dark: boolean, variable: (name: string) => string, kinds: readonly string[]): CanvasTheme {
  const lane = parseColour(variable('--lane-empty'))
  const missing = parseColour(variable('--surface-3'))
  return {
    dark,
    background: variable('--bg'),
    lane: variable('--lane-empty'),
    laneAlternate: variable('--surface'),
    heading: variable('--surface-2'),
    line: variable('--line'),
    lineStrong: variable('--line-strong'),
    ink: variable('--ink'),
    inkSoft: variable('--ink-3'),
    accent: variable('--accent'),
    warning: variable('--warning'),
    critical: variable('--critical'),
    good: variable('--good'),
    names: namePalette(dark, lane),
    kinds: paletteOf(
      kinds.map((kind) => parseColour(variable(KIND_COLOURS[kind] ?? '--idle'))),
      lane,
    ),
    lanes: paletteOf(
      LANE_COLOURS.map((name) => parseColour(variable(name))),
      lane,
      FAINTEST_LANE,
    ),
    backgroundPixel: pack(lane),
    missingPixel: pack(missing),
    links: Object.fromEntries(Object.entries(LINK_COLOURS).map(([kind, name]) => [kind, variable(name)])),
    font: variable('--font') || 'sans-serif',
  }
}

/** Colours when slices are coloured by kind: the fixed colours of the page where a kind has one. */
export const KIND_COLOURS: Readonly<Record<string, string>> = {
  operator: '--compute',
  kernel: '--compute',
  collective: '--communication',
  comm_task: '--communication',
  wait: '--warning',
  copy: '--copy',
  runtime: '--overlap',
  sync: '--critical',
  annotation: '--data',
  module: '--good',
  python: '--line-strong',
  gc: '--critical',
  step: '--data',
  overhead: '--warning',
}
