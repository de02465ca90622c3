// Browser tests against the real server in Debian's Chromium.
import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  timeout: 180_000,
  expect: { timeout: 60_000 },
  // One server and two cores: tests side by side would only wait for each other.
  workers: 1,
  reporter: [['list']],
  outputDir: 'test-results',
  globalSetup: './e2e/server.ts',
  use: {
    launchOptions: {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      // Pages of one address share a process, which stays while tests come and go (e2e/browser.ts).
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--process-per-site'],
    },
  },
})
