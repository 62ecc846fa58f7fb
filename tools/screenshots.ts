import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { chromium } from 'playwright-core'

/**
 * Takes the pictures of the documentation from a running service.
 *
 * @example npm run -s node -- tools/screenshots.ts http://127.0.0.1:8402
 */
const FOLDER = resolve(import.meta.dirname, '../docs/images')
/** The element at the top of each picture, where it is not the page. */
const PICTURES = [
  { path: '/', file: 'board.png' },
  { path: '/series/SIM/BTC/1h?bars=120', file: 'series.png', top: 'figure.wide' },
  { path: '/track-record', file: 'track-record.png', top: 'figure.wide' },
]
/** Images further down are not loaded before they are needed. */
const HAS_ITS_IMAGES =
  '[...document.images].every((one) => one.complete || one.getBoundingClientRect().top > innerHeight)'
const SIZE = { width: 1280, height: 760 }
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const address = process.argv[2] ?? 'http://127.0.0.1:8402'
const executablePath = BROWSERS.find((path) => existsSync(path))
if (executablePath === undefined)
  throw new Error(`No browser found at ${BROWSERS.join(', ')}. Install Chromium.`)

const browser = await chromium.launch({ executablePath })
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  for (const { path, file, top } of PICTURES) {
    const target = resolve(FOLDER, file)
    mkdirSync(dirname(target), { recursive: true })
    await page.goto(new URL(path, address).href, { waitUntil: 'load' })
    if (top !== undefined) {
      await page.evaluate(`document.querySelector('${top}').previousElementSibling.scrollIntoView()`)
    }
    while (!(await page.evaluate<boolean>(HAS_ITS_IMAGES))) await page.waitForTimeout(100)
    await page.screenshot({ path: target })
    process.stdout.write(`${target}\n`)
  }
} finally {
  await browser.close()
}
