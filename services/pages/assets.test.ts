import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ASSETS, CHART_LIBRARY } from './assets.ts'

/** The largest compressed size of all scripts of the pages together. */
const SCRIPT_BYTES = 25 * 1_024

test('all scripts of our own together are small, and what is compressed is what is served', () => {
  const scripts = ASSETS.filter((one) => one.type.startsWith('text/javascript') && one !== CHART_LIBRARY)
  expect(scripts.length).toBeGreaterThan(0)
  expect(scripts.reduce((sum, { gzipped }) => sum + gzipped.length, 0)).toBeLessThanOrEqual(SCRIPT_BYTES)
  for (const { body, gzipped } of ASSETS) expect(gunzipSync(gzipped).equals(body)).toBe(true)
})

test('nothing that is loaded leads elsewhere, and every one can be kept for ever', () => {
  for (const { path, body, type } of ASSETS) {
    expect(path).toMatch(/^\/assets\/\w+\.[0-9a-f]{12}\.\w+$/)
    if (type.startsWith('text/') && path !== CHART_LIBRARY.path)
      expect(body.toString()).not.toMatch(/https?:\/\/(?!www\.w3\.org)/)
  }
})
