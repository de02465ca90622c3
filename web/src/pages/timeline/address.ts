// The timeline in the address: which parameters are its own, what they say of its state, and what the state says to them.
import { numbers } from '../../state/session.svelte'
import { offsetsFromText, offsetsToText, type Offsets } from '../../timeline/align'
import { flagsFromText, flagsToText, type Flag } from '../../timeline/flags'
import { firstStep, stepSpan, type RunModel } from '../../timeline/model'
import { openFromText, openToText, type OpenRanks } from '../../timeline/openRanks'
import { selectionFromParams, selectionToParams, type Selection } from '../../timeline/selection'
import { isSideB } from '../../timeline/sides'
import { stripOrderOf, type StripOrder } from '../../timeline/stripOrder'
import { fromParams, toParams, type TrackState } from '../../timeline/trackState'
import type { Span } from '../../timeline/view'

type Params = Readonly<Record<string, string>>

/** What the user can see again later. */
export interface AddressedState {
  state: TrackState
  opened: OpenRanks
  stripOrder: StripOrder
  /** The kind of tracks that another page's link is about: they come first. */
  firstKind: string | null
  /** The track that is shown of all ranks, as `rank.track`. */
  stackKey: string | null
  ownOffsets: Offsets
  flags: readonly Flag[]
  linkKinds: readonly string[]
  selection: Selection
  colourBy: 'name' | 'kind'
}

const OWN = [
  'open',
  'strips',
  'show',
  'stack',
  'pin',
  'hide',
  'fold',
  'order',
  'sel',
  'range',
  'rows',
  'offset',
  'flag',
  'links',
  'colour',
  't',
  'step',
] as const

/** The timeline's own parameters as one text, to see whether they changed. */
export function ownText(params: Readonly<Record<string, string | null>>): string {
  return OWN.map((name) => `${name}=${params[name] ?? ''}`).join('&')
}

export function withTime(text: string, t: string): string {
  return text.replace(/&t=[^&]*/, `&t=${t}`)
}

export function stateOf(params: Params): AddressedState {
  return {
    state: fromParams(params),
    opened: openFromText(params['open']),
    stripOrder: stripOrderOf(params['strips']),
    firstKind: params['show'] ?? null,
    stackKey: params['stack'] ?? null,
    ownOffsets: offsetsFromText(params['offset']),
    flags: flagsFromText(params['flag']),
    linkKinds: (params['links'] ?? '').split(',').filter(Boolean),
    selection: selectionFromParams(params),
    colourBy: params['colour'] === 'kind' ? 'kind' : 'name',
  }
}

export function paramsOf(state: Omit<AddressedState, 'firstKind'>): Record<string, string | null> {
  return {
    ...toParams(state.state),
    ...selectionToParams(state.selection),
    open: openToText(state.opened),
    strips: state.stripOrder === 'slow' ? null : state.stripOrder,
    stack: state.stackKey,
    offset: offsetsToText(state.ownOffsets),
    flag: flagsToText(state.flags),
    links: state.linkKinds.join(',') || null,
    colour: state.colourBy === 'kind' ? 'kind' : null,
  }
}

/** Without a time in the address the page opens on one step. */
export function openingSpan(model: RunModel | null, params: Params): Span | null {
  if (!model) return null
  const asked = numbers(params['step'])[0]
  const first = firstStep(model)
  for (const step of [asked, first?.mark.step]) {
    const spans = [...model.ranks.keys()].flatMap((rank) => {
      const mark = step === undefined || isSideB(rank) ? undefined : model.step(rank, step)
      return mark ? [stepSpan(mark)] : []
    })
    const [one] = spans
    if (!one) continue
    // Of two ranks that are compared both are whole in sight.
    const together = spans.filter((other) => other.start < one.end && other.end > one.start)
    return widened({
      start: Math.min(...together.map((span) => span.start)),
      end: Math.max(...together.map((span) => span.end)),
    })
  }
  return null
}

function widened(span: Span): Span {
  const room = (span.end - span.start) * 0.02
  return { start: span.start - room, end: span.end + room }
}
