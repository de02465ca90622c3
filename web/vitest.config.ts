// Unit tests stand beside what they test. Apart from the build's file, which must not need the test tools.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [svelte()],
  // Without this the tests would load Svelte's server build.
  resolve: { conditions: ['browser'] },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/testing/setup.ts'],
    restoreMocks: true,
    // Only so as not to hang: a busy machine takes longer than the five seconds of the default.
    testTimeout: 60_000,
  },
})
