import { expect, test } from 'vitest'
import type { Group } from '../../api/schema'
import { groupNames } from './groupNames'

const group = (id: string, name: string | null, ranks: readonly number[]): Group => ({
  group: id,
  name,
  dimension: null,
  ranks,
  captured: ranks,
  members_known: true,
  origin: null,
  confidence: null,
})

test('groups keep the names that a job gave them', () => {
  const nameOf = groupNames([group('dp_0', 'default_pg', [0, 2])])
  expect([nameOf('dp_0'), nameOf('stage 1'), nameOf(null)]).toEqual(['dp_0', 'stage 1', '–'])
})

test('numbers that a library made up give way to a name or to the members', () => {
  const nameOf = groupNames([
    group('17522688603477080586', null, [0, 1, 2, 3]),
    group('9c0a77b1d2e3f4a5', 'tensor parallel', [0, 1]),
  ])
  expect(nameOf('17522688603477080586')).toBe('rank 0–3')
  expect(nameOf('9c0a77b1d2e3f4a5')).toBe('tensor parallel')
})
