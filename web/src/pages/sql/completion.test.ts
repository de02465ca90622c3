import { expect, test } from 'vitest'
import type { TableInfo } from '../../api/schema'
import { accepted, complete, tablesIn } from './completion'

const table = (name: string, ...columns: string[]): TableInfo => ({
  name,
  meaning: '',
  rows: 1,
  columns: columns.map((column) => ({ name: column, type: 'Int64', meaning: '' })),
})
const TABLES = [
  table('slices', 'rank', 'slice', 'dur_ns', 'name'),
  table('steps', 'rank', 'step'),
  table('stacks', 'stack'),
]
const at = (text: string): string[] => complete(text, text.length, TABLES).proposals.map((one) => one.text)

test('after FROM and JOIN stand tables', () => {
  expect(at('SELECT * FROM s')).toEqual(['slices', 'steps', 'stacks'])
  expect(at('SELECT * FROM slices JOIN ste')).toEqual(['steps'])
})

test('columns are those of the tables that the query names, also behind an alias', () => {
  const text = 'SELECT du FROM slices'
  expect(complete(text, 9, TABLES).proposals[0]?.text).toBe('dur_ns')
  expect(at('SELECT 1 FROM slices AS s WHERE s.na')).toEqual(['name'])
  expect(at('SELECT 1 FROM slices s JOIN steps t ON t.')).toEqual(['rank', 'step'])
  expect(at('SELECT 1 FROM steps WHERE dur')).toEqual([])
  expect(tablesIn('select 1 from Slices', TABLES).map((one) => one.name)).toEqual(['slices'])
})

test('nothing is proposed inside a text, in a comment, or for a word that is whole', () => {
  expect(at("SELECT 'sel")).toEqual([])
  expect(at('SELECT 1 -- sel')).toEqual([])
  expect(at('SELECT * FROM slices')).toEqual([])
})

test('a proposal takes the place of what was typed', () => {
  const text = 'SELECT du FROM slices'
  const completion = complete(text, 9, TABLES)
  expect(accepted(text, 9, completion, completion.proposals[0] ?? { text: '', kind: 'word', detail: '' })).toEqual({
    text: 'SELECT dur_ns FROM slices',
    cursor: 13,
  })
})
