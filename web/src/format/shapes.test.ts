import { expect, test } from 'vitest'
import { shapesText } from './shapes'

test('shapes are written with a cross, without inputs that have none', () => {
  expect(shapesText('[[4096], [4096, 1024], [1024, 4096], [], []]')).toBe('4096, 4096×1024, 1024×4096')
  expect(shapesText('[[]]')).toBe('')
})

test('what is written in another way stays as it is', () => {
  expect(shapesText('"4,8;8,2"')).toBe('"4,8;8,2"')
  expect(shapesText('4,8;8,2')).toBe('4,8;8,2')
  expect(shapesText('[[[2, 2], [3]], [4]]')).toBe('[[[2, 2], [3]], [4]]')
})
