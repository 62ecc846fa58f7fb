import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { chromium } from 'playwright-core'

/**
 * Takes the pictures of the documentation from a running service.
 *
 * @example npm run -s node -- tools/screenshots.ts http://127.0.0.1:8402
 */
const FOLDER = resolve(import.meta.dirname, '../docs/images')
const PICTURES = [{ path: '/', file: 'board.png' }]
const SIZE = { width: 1280, height: 800 }
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const address = process.argv[2] ?? 'http://127.0.0.1:8402'
const executablePath = BROWSERS.find((path) => existsSync(path))
if (executablePath === undefined)
  throw new Error(`No browser found at ${BROWSERS.join(', ')}. Install Chromium.`)

const browser = await chromium.launch({ executablePath })
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  for (const { path, file } of PICTURES) {
    const target = resolve(FOLDER, file)
    mkdirSync(dirname(target), { recursive: true })
    await page.goto(new URL(path, address).href, { waitUntil: 'load' })
    await page.screenshot({ path: target })
    process.stdout.write(`${target}\n`)
  }
} finally {
  await browser.close()
}
