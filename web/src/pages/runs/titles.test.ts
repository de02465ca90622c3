import { expect, test } from 'vitest'
import type { RunSummary } from '../../api/runs'
import { runTitles } from './titles'

const run = (id: string, path: string, more: Partial<RunSummary> = {}): RunSummary =>
  ({ id, path, name: path.split('/').at(-1), label: null, uploaded: false, window: null, ...more }) as RunSummary

test('runs of one name are told apart by the folders above them, by window, or as uploads', () => {
  const titles = runTitles(
    [
      run('a', '/data/first/profiler'),
      run('b', '/data/second/profiler'),
      run('c', 'profiler', { uploaded: true }),
      run('d', '/data/alone'),
      run('e', '/data/job', { name: 'w', window: 'w' }),
      run('f', '/data/job', { name: 'w', window: 'w' }),
    ],
    'uploaded',
  )
  expect([...titles.values()].map((one) => one.apart)).toEqual([
    'first/profiler',
    'second/profiler',
    'uploaded 3',
    null,
    'w',
    'w',
  ])
})

test('the name that the user gave comes first', () => {
  const titles = runTitles([run('a', '/x/trace', { label: 'before' }), run('b', '/y/trace')], '')
  expect(titles.get('a')).toEqual({ name: 'before', apart: null })
  expect(titles.get('b')).toEqual({ name: 'trace', apart: null })
})
