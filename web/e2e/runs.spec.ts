// The list of runs: verdicts that are kept, names and tags, and the way past the list where there is only one run.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capture } from './captures'
import { App, expect, test } from './fixtures'
import { serve } from './server'

interface Listed {
  readonly name: string
  readonly verdict: { readonly sentence: string; readonly period_us: number } | null
}

test('a run is diagnosed when the user asks, and the list keeps the verdict', async ({ app, page }) => {
  const run = await app.run('slow')
  await app.open('/runs')
  const line = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'slow', exact: true }) })
  await expect(line).toBeVisible()
  const button = line.getByRole('button', { name: 'Diagnose' })
  if (await button.isVisible()) await button.click()
  await expect(line).not.toContainText('not yet diagnosed')
  const { data } = await app.api<{ data: { verdict: { sentence: { en: string } }; period_us: number } }>(
    `run/${run.id}/diagnose`,
  )
  await expect(line).toContainText(data.verdict.sentence.en)
  await expect(line.locator('[data-field=period_us]')).toHaveAttribute('data-value', String(data.period_us))
  await page.reload()
  await expect(line).toContainText(data.verdict.sentence.en)
  const { runs } = await app.api<{ runs: readonly Listed[] }>('runs?lang=en')
  expect(runs.find((one) => one.name === 'slow')?.verdict).toMatchObject({ period_us: data.period_us })
})

test('a run gets a name and tags, is found by them, and can lose them again', async ({ app, page }) => {
  await app.open('/runs')
  await page.getByRole('button', { name: 'Name and tags: host' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('training on the host')
  await dialog.getByRole('textbox', { name: 'Tags' }).fill('cpu, baseline')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('link', { name: 'training on the host' })).toBeVisible()
  await page.reload()
  await page.getByRole('button', { name: 'baseline', exact: true }).click()
  await expect(page.getByRole('row')).toHaveCount(2)
  await page.getByRole('button', { name: 'Name and tags: training on the host' }).click()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('')
  await dialog.getByRole('textbox', { name: 'Tags' }).fill('')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('searchbox', { name: 'Filter' }).fill('')
  await expect(page.getByRole('link', { name: 'host', exact: true })).toBeVisible()
})

test('a view is saved by name, and opens again as it was', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory?tab=leaks`)
  await page.getByRole('button', { name: 'Saved views' }).click()
  await page.getByRole('textbox', { name: 'Save this view as…' }).fill('what grows')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByRole('link', { name: 'what grows' })).toBeVisible()
  await page.keyboard.press('Escape')
  await app.open(`/run/${run.id}/steps`)
  await page.getByRole('button', { name: 'Saved views' }).click()
  await page.getByRole('link', { name: 'what grows' }).click()
  await expect.poll(() => app.param('tab')).toBe('leaks')
  await page.getByRole('button', { name: 'Saved views' }).click()
  await page.getByRole('button', { name: 'Forget “what grows”' }).click()
  await expect(page.getByRole('link', { name: 'what grows' })).toHaveCount(0)
})

test('the list says when, on what and how large, in the order that is asked for', async ({ app, page }) => {
  await app.open('/runs')
  const line = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'single', exact: true }) })
  await expect(line).toContainText('Test GPU')
  await expect(line).toContainText('2023')
  await expect(line).toContainText('KiB')
  await page.getByRole('button', { name: 'Ranks', exact: true }).click()
  await expect(page.getByRole('columnheader', { name: 'Ranks' })).toHaveAttribute('aria-sort', 'descending')
  await expect(page.getByRole('row').nth(1)).toContainText(/simulated/)
})

test('an only run opens at once, and two of one name are told apart', async ({ page }) => {
  const folder = mkdtempSync(join(tmpdir(), 'stepscope-runs-'))
  const file = join(folder, 'only.json')
  writeFileSync(file, capture(0))
  const server = await serve([file], join(folder, 'store'), 1)
  try {
    await page.goto(server.address)
    await expect(page.locator('main h1').first()).toHaveText(/Overview|概览/)
    const app = new App(page, server.address)
    await app.open('/runs')
    await page.locator('input[type=file]').first().setInputFiles(file)
    await expect(page.getByRole('row')).toHaveCount(3)
    await expect(page.getByRole('row').nth(2)).toContainText('uploaded')
  } finally {
    server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

for (const look of [{ language: 'en', theme: 'light' } as const, { language: 'zh', theme: 'dark' } as const])
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    await app.open('/runs', look)
    await expect(page.getByRole('row').nth(1)).toBeVisible()
    await app.axe()
  })
