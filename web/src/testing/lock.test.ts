// The lock file must install everywhere, and must name no registry.
import { expect, test } from 'vitest'
import lock from '../../package-lock.json?raw'

const packages = (JSON.parse(lock) as { packages: Record<string, { version?: string; resolved?: string }> }).packages

test('bindings of the bundler are locked for every platform people build on', () => {
  const platforms = [
    'linux-x64-gnu',
    'linux-x64-musl',
    'linux-arm64-gnu',
    'linux-arm64-musl',
    'darwin-x64',
    'darwin-arm64',
    'win32-x64-msvc',
    'win32-arm64-msvc',
  ]
  const missing = platforms.filter((platform) => !packages[`node_modules/@rolldown/binding-${platform}`]?.version)
  expect(missing).toEqual([])
})

test('every locked package has a version, none an address', () => {
  const entries = Object.entries(packages).filter(([path]) => path !== '')
  expect(entries.filter(([, entry]) => !entry.version).map(([path]) => path)).toEqual([])
  expect(entries.filter(([, entry]) => entry.resolved).map(([path]) => path)).toEqual([])
})
