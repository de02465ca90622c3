// What the user did to the tracks: pinned, hidden, folded, reordered. Plain values that fit into the address.

/** `rank.track`, `rank.L` for the merged lanes, `rank.gN` for a group, `rank.gNq` for its quiet tracks. */
export type TrackKey = string

export interface TrackState {
  readonly pinned: readonly TrackKey[]
  readonly hidden: readonly TrackKey[]
  /** Keys whose folding differs from the default. */
  readonly toggled: readonly TrackKey[]
  /** Tracks that were moved, each with the key it now stands before ("" = at the end of its group). */
  readonly moved: readonly (readonly [TrackKey, TrackKey])[]
}

export const UNTOUCHED: TrackState = { pinned: [], hidden: [], toggled: [], moved: [] }

export const trackKey = (rank: number, track: number): TrackKey => `${rank}.${track}`
export const lanesKey = (rank: number): TrackKey => `${rank}.L`
export const groupKey = (rank: number, group: number): TrackKey => `${rank}.g${group}`
export const quietKey = (group: TrackKey): TrackKey => `${group}q`
export const rankKey = (rank: number): TrackKey => `${rank}.r`
export const stepsKey: TrackKey = 'steps'
export const otherStepsKey: TrackKey = 'steps of B'
export const queryKey: TrackKey = 'query'

const KEY = /^-?\d+\.(L|\d+|g\d+q?)$/

function toggle(list: readonly TrackKey[], key: TrackKey): readonly TrackKey[] {
  return list.includes(key) ? list.filter((other) => other !== key) : [...list, key]
}

export function togglePin(state: TrackState, key: TrackKey): TrackState {
  return { ...state, pinned: toggle(state.pinned, key) }
}

/** Pin all of these, or unpin them when all are pinned. */
export function pinAll(state: TrackState, keys: readonly TrackKey[]): TrackState {
  const all = keys.every((key) => state.pinned.includes(key))
  const rest = state.pinned.filter((key) => !keys.includes(key))
  return { ...state, pinned: all ? rest : [...rest, ...keys] }
}

export function hide(state: TrackState, key: TrackKey): TrackState {
  return {
    ...state,
    hidden: state.hidden.includes(key) ? state.hidden : [...state.hidden, key],
    pinned: state.pinned.filter((other) => other !== key),
  }
}

export function showAll(state: TrackState, rank: number): TrackState {
  return { ...state, hidden: state.hidden.filter((key) => !key.startsWith(`${rank}.`)) }
}

export function toggleFold(state: TrackState, key: TrackKey): TrackState {
  return { ...state, toggled: toggle(state.toggled, key) }
}

/** Put a track before another of its group; the latest move counts. */
export function move(state: TrackState, key: TrackKey, before: TrackKey): TrackState {
  if (key === before) return state
  return { ...state, moved: [...state.moved.filter(([other]) => other !== key), [key, before]] }
}

/** Keys of one group in the order the user gave them. */
export function ordered(keys: readonly TrackKey[], moved: TrackState['moved']): TrackKey[] {
  let result = [...keys]
  for (const [key, before] of moved) {
    if (!result.includes(key)) continue
    result = result.filter((other) => other !== key)
    const at = before === '' ? result.length : result.indexOf(before)
    result.splice(at < 0 ? result.length : at, 0, key)
  }
  return result
}

function listed(keys: readonly string[]): string | null {
  return keys.length > 0 ? keys.join(',') : null
}

/** Parameters of the address. */
export function toParams(state: TrackState): Record<string, string | null> {
  return {
    pin: listed(state.pinned),
    hide: listed(state.hidden),
    fold: listed(state.toggled),
    order: listed(state.moved.map(([key, before]) => `${key}:${before}`)),
  }
}

export function fromParams(params: Readonly<Record<string, string>>): TrackState {
  const list = (name: string): TrackKey[] => (params[name] ?? '').split(',').filter((key) => KEY.test(key))
  const moved = (params['order'] ?? '').split(',').flatMap((piece): (readonly [TrackKey, TrackKey])[] => {
    const [key = '', before = ''] = piece.split(':')
    return KEY.test(key) && (before === '' || KEY.test(before)) ? [[key, before]] : []
  })
  return { pinned: list('pin'), hidden: list('hide'), toggled: list('fold'), moved }
}
