// A new user finds the cause of each worked case from the Overview in at most three clicks.
import { expect, test } from './fixtures'

test('long step interval: the verdict names it, the data loader is one click away', async ({ app, page }) => {
  const run = await app.run('interval')
  await app.open(`/run/${run.id}/overview`)
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText('wait for input')
  const idle = page.getByRole('region', { name: 'Why the device is idle' })
  const gap = idle.getByRole('row').filter({ hasText: 'DataLoader' }).first()
  await expect(gap).toContainText('data')
  await gap.getByRole('link').click()
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeAttached()
  await expect.poll(() => app.param('range')).not.toBeNull()
})

test('slow operators: the largest type leads to its kernels', async ({ app, page }) => {
  const run = await app.run('slow')
  await app.open(`/run/${run.id}/overview`)
  const top = page.getByRole('region', { name: 'Operator types by total time' }).getByRole('row').nth(1)
  await expect(top).toContainText('slow_scatter')
  await top.getByRole('link').click()
  await expect(page.getByRole('heading', { name: 'Operators', level: 1 })).toBeVisible()
  await expect(page.getByRole('main')).toContainText('slow_scatter_kernel')
})

test('gaps between operators: the host is named as the cause, and a gap is one click away', async ({ app, page }) => {
  const run = await app.run('gaps')
  await app.open(`/run/${run.id}/overview`)
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText('waits for the host')
  const idle = page.getByRole('region', { name: 'Why the device is idle' })
  await expect(idle).toContainText('the host')
  await idle.getByRole('row').nth(1).getByRole('link').click()
  await expect.poll(() => app.param('range')).not.toBeNull()
  await page.goBack()
  await page.getByRole('region', { name: 'Verdict' }).getByRole('link', { name: 'Show me' }).click()
  await expect.poll(() => app.param('range')).not.toBeNull()
})
