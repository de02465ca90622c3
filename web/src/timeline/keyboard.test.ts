import { expect, test } from 'vitest'
import { actionOf, isTyping, KEY_TABLE, type KeyPress } from './keyboard'

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  code: /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : '',
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
})

test('keys do what the table says', () => {
  expect(actionOf(press('w'))).toBe('zoom_in')
  expect(actionOf(press('+', { shiftKey: true }))).toBe('zoom_in')
  expect(actionOf(press('f'))).toBe('fit')
  expect(actionOf(press('Z', { shiftKey: true }))).toBe('fit')
  expect(actionOf(press('L', { shiftKey: true }))).toBe('set_reference')
  expect(actionOf(press('l'))).toBe('align_left')
  // Ctrl+K belongs to the whole page.
  expect(actionOf(press('k', { ctrlKey: true }))).toBeNull()
  expect(actionOf(press('b'))).toBe('flag')
  expect([actionOf(press('j')), actionOf(press('k'))]).toEqual(['next_stop', 'previous_stop'])
  expect(actionOf(press('c', { metaKey: true }))).toBe('copy')
  expect(actionOf(press('Enter', { shiftKey: true }))).toBe('previous_hit')
  expect(actionOf(press('7'))).toBe('step_mark')
  expect(actionOf(press('0'))).toBe('whole')
})

test('WASD stay where the hand is on other keyboard layouts', () => {
  expect(actionOf(press('z', { code: 'KeyW' }))).toBe('zoom_in')
  expect(actionOf(press('q', { code: 'KeyA' }))).toBe('pan_left')
})

test('the browser keeps its own combinations', () => {
  expect(actionOf(press('w', { ctrlKey: true }))).toBeNull()
  expect(actionOf(press('r', { ctrlKey: true }))).toBeNull()
  expect(actionOf(press('f', { ctrlKey: true }))).toBeNull()
})

test('no two lines of the table answer to the same key', () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'].flatMap((letter) => [
    press(letter),
    press(letter.toUpperCase(), { shiftKey: true }),
  ])
  const others = [
    '[',
    ']',
    ',',
    '.',
    '/',
    '+',
    '-',
    '0',
    '5',
    'Enter',
    'Backspace',
    'Escape',
    'ArrowUp',
    'ArrowLeft',
  ].map((key) => press(key))
  for (const event of [...letters, ...others]) {
    expect(KEY_TABLE.filter((line) => line.match?.(event)).length).toBeLessThanOrEqual(1)
  }
})

test('keys rest in fields and while an input method composes', () => {
  const field = document.createElement('input')
  const inField = new KeyboardEvent('keydown', { key: 'w' })
  Object.defineProperty(inField, 'target', { value: field })
  expect(isTyping(inField)).toBe(true)
  expect(isTyping(new KeyboardEvent('keydown', { key: 'w', isComposing: true }))).toBe(true)
  expect(isTyping(new KeyboardEvent('keydown', { key: 'w' }))).toBe(false)
})
