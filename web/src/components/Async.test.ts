import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { createRawSnippet } from 'svelte'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ApiError } from '../api/errors'
import { language } from '../i18n/language.svelte'
import type { Resource } from '../state/resource.svelte'
import { SESSION } from '../state/context'
import Async from './Async.svelte'

beforeEach(() => language.set('en'))
afterEach(cleanup)

function show(state: Partial<Resource<string>>, more: { keep?: boolean } = {}): void {
  const resource = { data: undefined, error: undefined, waiting: null, stopped: false, ...state } as Resource<string>
  const children = createRawSnippet((answer: () => string) => ({ render: () => `<p>${answer()}</p>` }))
  const context = new Map([[SESSION, { run: undefined, rankEntry: undefined }]])
  render(Async<string>, { props: { resource, what: 'Result', children, ...more }, context })
}
const refusal = (code: string): ApiError =>
  new ApiError(422, { code, params: {}, hint: null, message: 'Check --rank and --step.' })

test('while a long answer is awaited the old one is dimmed, and waiting can be stopped', async () => {
  const cancel = vi.fn()
  show({ data: 'old rows', waiting: 'long', cancel })
  expect(screen.getByText('old rows').parentElement?.className).toContain('stale')
  expect(screen.getByRole('status').textContent).toContain('Computing: Result')
  await fireEvent.click(screen.getByText('Cancel'))
  expect(cancel).toHaveBeenCalled()
})

test('where old answers must not stay they go when the wait shows, and after a failure', () => {
  show({ data: 'old rows', waiting: 'long' }, { keep: false })
  expect(screen.queryByText('old rows')).toBeNull()
  expect(screen.getByText('Cancel')).toBeTruthy()
  cleanup()
  show({ data: 'old rows', error: refusal('sql_failed') }, { keep: false })
  expect(screen.queryByText('old rows')).toBeNull()
  expect(screen.getByRole('alert')).toBeTruthy()
})

test('an answer that was given up is not passed off as finished', () => {
  show({ data: 'old rows', stopped: true })
  expect(screen.getByRole('status').textContent).toContain('Stopped.')
  expect(screen.getByText('old rows').parentElement?.className).toContain('stale')
})

test('what was not recorded is no failure: a sentence, and how to record it', () => {
  for (const code of ['no_steps', 'no_operators', 'launches_nothing_recorded']) {
    show({ error: refusal(code) })
    expect(screen.queryByRole('alert')).toBeNull()
    expect(screen.getByRole('note').textContent).not.toContain('--rank')
    expect(screen.getByText('How to record it')).toBeTruthy()
    cleanup()
  }
})
