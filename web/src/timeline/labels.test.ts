import { expect, test } from 'vitest'
import fc from 'fast-check'
import { TextFitter } from './labels'

/** Letters of very different width: `i` takes 3 pixels, `W` 12, all others 7. */
const measure = (text: string): number =>
  [...text].reduce((sum, letter) => sum + (letter === 'i' ? 3 : letter === 'W' ? 12 : 7), 0)

test('a label never overruns its slice, whatever letters it begins with', () => {
  const fitter = new TextFitter(measure)
  const word = fc.string({ unit: fc.constantFrom('i', 'W', 'a', '_'), minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(word, fc.integer({ min: 1, max: 200 }), (text, pixels) => {
      const shown = fitter.fit(text, pixels)
      expect(shown === '' ? 0 : measure(shown) + 8).toBeLessThanOrEqual(pixels)
      expect(text.startsWith(shown.replace('…', ''))).toBe(true)
    }),
  )
  // 24 + 7 × 3 + 7 pixels are the 52 that a slice of 60 leaves beside its padding.
  expect(fitter.fit('WWiiiiiiiiii', 60)).toBe('WWiiiiiii…')
})

test('a name without room gives up what many begin with, then its end, and at last says nothing', () => {
  const fitter = new TextFitter(measure)
  const name = 'nn.Module: Linear_0'
  expect(fitter.fit(name, 8 + measure(name))).toBe(name)
  expect(fitter.fit(name, 8 + measure(name) - 1)).toBe('Linear_0')
  expect(fitter.fit(name, 8 + measure('Lin…'))).toBe('Lin…')
  expect(fitter.fit(name, 8 + measure('Li…') - 1)).toBe('')
})
