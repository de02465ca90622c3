// Keys of the timeline: one table that handles them and from which the help dialog is made.
import type { PlainKey } from '../i18n/language.svelte'

export type Action =
  | 'zoom_in'
  | 'zoom_out'
  | 'pan_left'
  | 'pan_right'
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'fit'
  | 'whole'
  | 'undo_zoom'
  | 'mark_range'
  | 'flag'
  | 'list_flags'
  | 'align_left'
  | 'align_right'
  | 'set_reference'
  | 'reset_offsets'
  | 'flow_back'
  | 'flow_on'
  | 'next_same'
  | 'previous_same'
  | 'next_gap'
  | 'next_stop'
  | 'previous_stop'
  | 'enter'
  | 'row_up'
  | 'row_down'
  | 'search'
  | 'next_hit'
  | 'previous_hit'
  | 'drawer'
  | 'pin'
  | 'pin_by_name'
  | 'expand'
  | 'step_mark'
  | 'copy'
  | 'escape'

export interface KeyLine {
  readonly action: Action | 'mouse_select' | 'mouse_range' | 'mouse_box' | 'mouse_pan' | 'mouse_scroll' | 'help'
  /** What the help dialog shows. */
  readonly shown: readonly string[]
  readonly text: PlainKey
  /** Matches a key press; physical codes for WASD, so that other layouts keep the hand position. */
  readonly match?: (event: KeyPress) => boolean
}

export type KeyPress = Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>

const bare = (event: KeyPress): boolean => !event.ctrlKey && !event.metaKey && !event.altKey
const code =
  (name: string, shift = false) =>
  (event: KeyPress): boolean =>
    bare(event) && event.code === name && event.shiftKey === shift
const key =
  (...names: string[]) =>
  (event: KeyPress): boolean =>
    bare(event) && names.includes(event.key)
const either =
  (...tests: ((event: KeyPress) => boolean)[]) =>
  (event: KeyPress): boolean =>
    tests.some((test) => test(event))
const control =
  (name: string) =>
  (event: KeyPress): boolean =>
    (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.code === name

export const KEY_TABLE: readonly KeyLine[] = [
  { action: 'zoom_in', shown: ['W', '+'], text: 'key.zoom_in', match: either(code('KeyW'), key('+', '=')) },
  { action: 'zoom_out', shown: ['S', '-'], text: 'key.zoom_out', match: either(code('KeyS'), key('-', '_')) },
  { action: 'pan_left', shown: ['A'], text: 'key.pan_left', match: code('KeyA') },
  { action: 'pan_right', shown: ['D'], text: 'key.pan_right', match: code('KeyD') },
  { action: 'left', shown: ['←', ','], text: 'key.left', match: key('ArrowLeft', ',') },
  { action: 'right', shown: ['→', '.'], text: 'key.right', match: key('ArrowRight', '.') },
  { action: 'up', shown: ['↑'], text: 'key.up', match: key('ArrowUp') },
  { action: 'down', shown: ['↓'], text: 'key.down', match: key('ArrowDown') },
  { action: 'fit', shown: ['F', 'Shift+Z'], text: 'key.fit', match: either(code('KeyF'), code('KeyZ', true)) },
  { action: 'whole', shown: ['0'], text: 'key.whole', match: key('0') },
  { action: 'undo_zoom', shown: ['Backspace'], text: 'key.undo_zoom', match: key('Backspace') },
  { action: 'mark_range', shown: ['M'], text: 'key.mark_range', match: code('KeyM') },
  { action: 'flag', shown: ['B'], text: 'key.flag', match: code('KeyB') },
  { action: 'list_flags', shown: ['Shift+B'], text: 'key.list_flags', match: code('KeyB', true) },
  { action: 'set_reference', shown: ['Shift+L'], text: 'key.set_reference', match: code('KeyL', true) },
  { action: 'align_left', shown: ['L'], text: 'key.align_left', match: code('KeyL') },
  { action: 'align_right', shown: ['R'], text: 'key.align_right', match: code('KeyR') },
  { action: 'reset_offsets', shown: ['Shift+R'], text: 'key.reset_offsets', match: code('KeyR', true) },
  { action: 'flow_back', shown: ['['], text: 'key.flow_back', match: key('[') },
  { action: 'flow_on', shown: [']'], text: 'key.flow_on', match: key(']') },
  { action: 'next_same', shown: ['N'], text: 'key.next_same', match: code('KeyN') },
  { action: 'previous_same', shown: ['P'], text: 'key.previous_same', match: code('KeyP') },
  { action: 'next_gap', shown: ['G'], text: 'key.next_gap', match: code('KeyG') },
  { action: 'next_stop', shown: ['J'], text: 'key.next_stop', match: code('KeyJ') },
  { action: 'previous_stop', shown: ['K'], text: 'key.previous_stop', match: code('KeyK') },
  { action: 'row_up', shown: ['PageUp'], text: 'key.row_up', match: key('PageUp') },
  { action: 'row_down', shown: ['PageDown'], text: 'key.row_down', match: key('PageDown') },
  { action: 'search', shown: ['/'], text: 'key.search', match: key('/') },
  {
    action: 'next_hit',
    shown: ['Enter'],
    text: 'key.next_hit',
    match: (event) => key('Enter')(event) && !event.shiftKey,
  },
  {
    action: 'previous_hit',
    shown: ['Shift+Enter'],
    text: 'key.previous_hit',
    match: (event) => key('Enter')(event) && event.shiftKey,
  },
  { action: 'drawer', shown: ['Q'], text: 'key.drawer', match: code('KeyQ') },
  { action: 'pin', shown: ['T'], text: 'key.pin', match: code('KeyT') },
  { action: 'pin_by_name', shown: ['Shift+T'], text: 'key.pin_by_name', match: code('KeyT', true) },
  { action: 'expand', shown: ['E'], text: 'key.expand', match: code('KeyE') },
  {
    action: 'step_mark',
    shown: ['1', '…', '9'],
    text: 'key.step_mark',
    match: (event) => bare(event) && /^[1-9]$/.test(event.key),
  },
  { action: 'copy', shown: ['Ctrl+C'], text: 'key.copy', match: control('KeyC') },
  { action: 'escape', shown: ['Esc'], text: 'key.escape', match: key('Escape') },
  { action: 'help', shown: ['?'], text: 'key.help' },
  { action: 'mouse_select', shown: ['Click', 'Shift+Click', 'Double click'], text: 'key.mouse_select' },
  { action: 'mouse_range', shown: ['Drag'], text: 'key.mouse_range' },
  { action: 'mouse_box', shown: ['Alt+Drag'], text: 'key.mouse_box' },
  { action: 'mouse_pan', shown: ['Shift+Drag', 'Middle drag', 'Shift+Wheel'], text: 'key.mouse_pan' },
  { action: 'mouse_scroll', shown: ['Wheel', 'Ctrl+Wheel'], text: 'key.mouse_scroll' },
]

/** The action of a key press, or null. */
export function actionOf(event: KeyPress): Action | null {
  const line = KEY_TABLE.find((candidate) => candidate.match?.(event))
  return line ? (line.action as Action) : null
}

/** Where keys are letters; a box to tick is none of these. */
const FIELDS = 'input:not([type=checkbox]), textarea, select, [contenteditable]'

/** Whether a key press belongs to a field or to an input method, not to the timeline. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.isComposing) return true
  return event.target instanceof Element && event.target.closest(FIELDS) !== null
}
