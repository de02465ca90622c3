// One build: hashed assets with a relative base, so that the page works behind any proxy path.
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir:
      process.env['STEPSCOPE_PAGE_DIR'] ?? fileURLToPath(new URL('../src/stepscope/server/page', import.meta.url)),
    emptyOutDir: true,
    // The content-security policy forbids data: URLs and inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { '/api': { target: process.env['STEPSCOPE_SERVER'] ?? 'http://127.0.0.1:8080' } } },
})
