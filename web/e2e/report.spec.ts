// The HTML report, opened from disk: no server, no request, no console error, in both themes and languages.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { Page } from '@playwright/test'
import { App, expect, plainTest as test } from './fixtures'

const PYTHON = process.env['STEPSCOPE_PYTHON'] ?? fileURLToPath(new URL('../../.venv/bin/python', import.meta.url))
const DATA = fileURLToPath(new URL('../../tests/data/', import.meta.url))
const HOSTILE = '</script><img src=x onerror=window.hurt=1>'
let folder = ''

test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stepscope-report-'))
  const trace = gunzipSync(readFileSync(join(DATA, 'gpu_steps.json.gz'))).toString()
  writeFileSync(join(folder, 'trace.json'), trace.replaceAll('aten::addmm', HOSTILE))
  const store = ['--store', join(folder, 'store')]
  const write = (...given: string[]): unknown =>
    execFileSync(PYTHON, ['-m', 'stepscope', 'report', ...given, ...store, '--lang', 'en'])
  write(join(folder, 'trace.json'), '-o', join(folder, 'run.html'))
  const pair = ['fp32', 'bf16'].map((name) => join(DATA, `pair_${name}.json.gz`))
  write(...pair, '--compare', '-o', join(folder, 'comparison.html'))
})
test.afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Opens a report; what goes wrong, and every request beside the file itself, is collected. */
async function open(page: Page, name: string, hash = ''): Promise<string[]> {
  const faults: string[] = []
  const address = pathToFileURL(join(folder, name)).href
  page.on('console', (message) => faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    if (request.url().replace(/#.*/, '') !== address) faults.push(`request: ${request.url()}`)
  })
  await page.goto(address + hash)
  return faults
}

for (const theme of ['light', 'dark'] as const)
  for (const name of ['run.html', 'comparison.html'])
    test(`${name} opens from disk in the ${theme} theme`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme })
      const faults = await open(page, name)
      await expect(page.locator('.verdict')).toBeVisible()
      await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
      await page.getByRole('button', { name: '中文' }).click()
      await expect(page.locator('html')).toHaveAttribute('lang', 'zh')
      await expect(page.locator('.verdict p').first()).toContainText(/[\u4e00-\u9fff]/)
      await page.getByRole('button', { name: 'English' }).click()
      await page.getByRole('button', { name: 'Dark / light' }).click()
      await expect(page.locator('html')).not.toHaveAttribute('data-theme', theme)
      await new App(page, '').axe()
      expect(faults).toEqual([])
    })

test('a finding has an address, its picture is drawn and can be zoomed, and names of a trace stay texts', async ({
  page,
}) => {
  const faults = await open(page, 'run.html', '#f1')
  const card = page.locator('#f1')
  await expect(card).toBeInViewport()
  const canvas = card.locator('canvas').first()
  const pixels = (): Promise<string> => canvas.evaluate((one) => (one as HTMLCanvasElement).toDataURL())
  const whole = await pixels()
  expect(whole.length).toBeGreaterThan(2000)
  await card.getByRole('button', { name: 'Zoom in' }).first().click()
  expect(await pixels()).not.toBe(whole)
  await card.getByRole('button', { name: 'Whole picture' }).first().click()
  expect(await pixels()).toBe(whole)
  await expect(page.getByText(HOSTILE).first()).toBeAttached()
  await expect(page.locator('img')).toHaveCount(0)
  expect(await page.evaluate(() => 'hurt' in window)).toBe(false)
  expect(faults).toEqual([])
})
