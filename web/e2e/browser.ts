// Tests share one browser context and one process of the browser: starting both anew took longer than most tests.
// Each has a page of its own, and what it left in the browser's memory is forgotten.
import { test, type Page } from '@playwright/test'

/** What every page has; with a page that stays open, its process does too. */
const SETTINGS = { viewport: { width: 1280, height: 800 }, locale: 'en-US' } as const

export const plainTest = test.extend<object, { readonly firstPage: Page }>({
  firstPage: [
    async ({ browser }, use) => {
      const context = await browser.newContext(SETTINGS)
      const page = await context.newPage()
      await page.goto(`${process.env['STEPSCOPE_URL']}favicon.svg`)
      await use(page)
      await context.close()
    },
    { scope: 'worker' },
  ],
  context: async ({ firstPage }, use) => {
    const context = firstPage.context()
    await use(context)
    for (const page of context.pages()) if (page !== firstPage) await page.close()
    await context.clearCookies()
    await firstPage.evaluate(() => localStorage.clear())
  },
  page: async ({ context }, use) => {
    await use(await context.newPage())
  },
})
