// A finding printed on the terminal carries a command; the address that it opens leads to the proof.
import type { Diagnosis } from '../src/api/schema'
import { expect, test } from './fixtures'

test('the address of a finding opens its proof', async ({ app, page }) => {
  const run = await app.run('job')
  const { data } = await app.api<{ data: Diagnosis }>(`run/${run.id}/diagnose`)
  const finding = data.findings.find((one) => one.proof[0]?.page === 'timeline' && one.proof[0].start_ns != null)
  expect(finding).toBeDefined()
  await app.open(`/run/${run.id}/overview?finding=${finding?.id ?? ''}`)
  await expect(page.getByRole('heading', { name: 'Timeline', level: 1 })).toBeVisible()
  const address = new URL(page.url()).hash
  expect(address).toContain(`rank=${String(finding?.proof[0]?.rank)}`)
  expect(address).toContain('range=')
  expect(address).not.toContain('finding=')
})

test('a finding that is not there leaves the overview as it is', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/overview?finding=nothing-00000000`)
  await expect(page.getByRole('heading', { name: 'Overview', level: 1 })).toBeVisible()
})
