import { HOSTILE_NAME } from './captures'
import { expect, test } from './fixtures'

test('the list of runs opens a run, and every page of it shows something', async ({ app, page }) => {
  await app.open('/runs')
  await expect(page.getByRole('heading', { name: 'Runs' })).toBeVisible()
  await page.getByRole('link', { name: 'job', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Overview', level: 1 })).toBeVisible()
  // Pages without data stand together, folded.
  await page.getByRole('navigation').getByText('Not recorded').click()
  const links = page.getByRole('navigation').getByRole('link')
  for (const name of await links.allInnerTexts()) {
    // A page with a finding carries its severity behind its name, once the findings are there.
    await page.getByRole('navigation').getByRole('link').filter({ hasText: name }).click()
    await expect(page.locator('main h1').first()).toHaveText(name)
  }
})

test('language and theme change at once and are kept', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/overview`)
  await page.getByRole('button', { name: '切换到中文' }).click()
  await expect(page.getByRole('heading', { name: '概览', level: 1 })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh')
  await page.getByRole('button', { name: '切换到深色' }).click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
})

test('a path outside the roots and a broken file are answered with a sentence', async ({ app, page }) => {
  app.refusals = true
  await app.open('/runs')
  await page.getByRole('textbox', { name: 'Path' }).fill('/etc/passwd')
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await expect(page.getByRole('alert')).toBeVisible()
})

test('an unknown run and an unknown page say so and lead back', async ({ app, page }) => {
  app.refusals = true
  await app.open('/run/nothing/overview')
  await expect(page.getByRole('alert')).toBeVisible()
  await expect(page.getByRole('main').getByRole('link', { name: 'Runs' })).toBeVisible()
  const run = await app.run('job')
  // From a page without data back to the list: nothing is asked of a run that is not named.
  await app.open(`/run/${run.id}/data`)
  await expect(page.getByText('How to collect it:')).toBeVisible()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.getByRole('link', { name: 'Stepscope' }).click()
  await expect(page.getByRole('heading', { name: 'Runs' })).toBeVisible()
  expect(asked.filter((path) => path.includes('/run//'))).toEqual([])
  await app.open(`/run/${run.id}/nonsense`)
  await expect(page.getByText('There is no page named “nonsense”.')).toBeVisible()
})

test('a link to a rank and a step that are not there says what is shown instead', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/overview?rank=99&step=999`)
  const said = page.getByRole('status').filter({ hasText: 'no rank 99' })
  await expect(said).toContainText('rank 0 is shown')
  await expect(said).toContainText('no step 999')
  await page.getByRole('button', { name: 'Correct the address' }).click()
  await expect(said).toHaveCount(0)
  expect(app.param('rank')).toBeNull()
})

test('a broken file that is sent is called by its name', async ({ app, page }) => {
  app.refusals = true
  await app.open('/runs')
  const content = Buffer.from('{"traceEvents": [ not json')
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'my_trace.json', mimeType: 'application/json', buffer: content })
  const said = page.getByRole('alert').or(page.getByRole('row').filter({ hasText: 'my_trace' }).locator('.why'))
  await expect(said.first()).toContainText('my_trace.json')
  await expect(page.getByRole('main')).not.toContainText('uploads/')
})

test('help has the keys of the page and a glossary, and gives the focus back', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/timeline`)
  const button = page.getByRole('button', { name: 'Keyboard shortcuts and help' })
  await button.click()
  await expect(page.getByRole('dialog')).toContainText('Zoom in at the pointer')
  await page.getByRole('radio', { name: 'Glossary' }).click()
  await expect(page.getByRole('dialog')).toContainText('All shares are shares of it.')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(button).toBeFocused()
})

test('names that try to be markup stay text', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/sql?q=${encodeURIComponent("SELECT name FROM slices WHERE name LIKE '<%' LIMIT 1")}`)
  await expect(page.getByRole('gridcell', { name: HOSTILE_NAME })).toBeVisible()
  expect(await page.title()).not.toBe('owned')
})

for (const theme of ['light', 'dark'] as const) {
  test(`no serious accessibility finding (${theme})`, async ({ app, page }) => {
    const run = await app.run('job')
    for (const hash of [
      '/runs',
      `/run/${run.id}/overview`,
      `/run/${run.id}/steps`,
      `/run/${run.id}/sql?q=SELECT%201`,
      `/run/${run.id}/timeline`,
    ]) {
      await page.evaluate(() => localStorage.clear()).catch(() => {})
      await app.open(hash, { theme, language: theme === 'dark' ? 'zh' : 'en' })
      await expect(page.locator('main h1').first()).toBeAttached()
      await page.waitForLoadState('networkidle')
      await app.axe()
    }
  })
}

test('a run that becomes ready while its page is open is shown, with a handful of requests', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  const list = await app.api<{ runs: { id: string; state: string }[] }>('runs')
  let isRead = false
  let requests = 0
  page.on('request', () => (requests += 1))
  await page.route(`**/api/run/${run.id}`, (route) =>
    !isRead
      ? route.fulfill({ status: 409, json: { code: 'run_not_ready', params: {}, message: 'Not ready.', hint: null } })
      : route.continue(),
  )
  await page.route('**/api/runs', (route) => {
    const runs = list.runs.map((one) => (one.id === run.id && !isRead ? { ...one, state: 'reading' } : one))
    return route.fulfill({ json: { ...list, runs } })
  })
  let alerts = 0
  await page.exposeFunction('alertSeen', () => (alerts += 1))
  await page.addInitScript(() =>
    new MutationObserver(() => {
      if (document.querySelector('[role=alert]')) (window as unknown as { alertSeen: () => void }).alertSeen()
    }).observe(document, { childList: true, subtree: true }),
  )
  await app.open(`/run/${run.id}/sql`)
  await expect(page.getByRole('heading', { name: 'Reading the capture' })).toBeVisible()
  // How often the page asked until here is a matter of the machine's speed.
  requests = 0
  isRead = true
  await expect(page.getByRole('heading', { name: 'SQL', level: 1 })).toBeVisible()
  expect(alerts).toBe(0)
  expect(requests).toBeLessThan(60)
})
