import { existsSync, mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SeriesHistory } from '../../contracts/answers/history.ts'
import type { AuthorizationRequest } from '../accounts/index.ts'
import { type ServiceProcess, startServiceProcess } from '../http/testing/start-service-process.ts'
import { page as wholePage } from './layout.ts'
import { backPage, brokenRequestPage, consentPage } from './pages/oauth-consent.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const MISSING = CHROMIUM === undefined ? ': skipped, Chromium is not installed' : ''
/** Pictures of all pages are left here for people to look at; never in the project. */
const SCREENSHOTS = process.env.SCREENSHOTS ?? join(tmpdir(), 'signal-service-pages')
/** The parts of the checker's answer that a failure prints. */
interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string }[]
  }[]
}

/** An endpoint's answer that must stay text wherever a page shows it. */
const HOSTILE = '</pre><script>document.title = "run"</script><img src=x onerror="document.title = \'run\'">'

/** A browser beside a whole run of tests takes its time. */
const PATIENCE_MS = 300_000

describe.skipIf(CHROMIUM === undefined)(`pages in a browser${MISSING}`, { timeout: PATIENCE_MS }, () => {
  let service: ServiceProcess
  let endpoint: Server
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let key: string
  const asked = new Set<string>()
  const complaints: string[] = []

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true })
    endpoint = createServer((request, response) => {
      request.resume()
      response.writeHead(500).end(HOSTILE)
    }).listen(0, '127.0.0.1')
    ;[service, browser] = await Promise.all([
      startServiceProcess({
        COINS: 'BTC,ETH',
        TIMEFRAMES: '1m,15m,1h',
        MARKET_SPEED: '60',
        WEBHOOKS_ALLOW_PRIVATE: 'true',
      }),
      chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] }),
    ])
    context = await browser.newContext({ viewport: { width: 1_280, height: 900 } })
    page = await context.newPage()
    watch(page)
    page.setDefaultTimeout(90_000)
  }, 90_000)
  afterAll(async () => {
    await browser?.close()
    endpoint?.close()
    await service?.stop()
    service?.remove()
  })

  function watch(one: Page): void {
    one.on('request', (request) => asked.add(new URL(request.url()).origin))
    // A refused form is an answer with an error status, which browsers report; a verdict of now is not signed yet.
    one.on('console', (message) => {
      const isExpected =
        message.text().includes('status of 4') || message.location().url.includes('/log/proof/')
      if (message.type() === 'error' && !isExpected) complaints.push(message.text())
    })
    one.on('pageerror', (error) => complaints.push(String(error)))
  }

  /** Faults of the page that is shown, in both colour schemes, on a wide screen and on a phone. */
  async function faults(name: string, on: Page = page): Promise<string[]> {
    const found: string[] = []
    await on.evaluate(axe.source)
    // The checker measures no contrast over a gradient: without their shadows tables are checked, too.
    await on.evaluate('for (const one of document.querySelectorAll(".scroll")) one.style.background = "none"')
    for (const [width, height] of [
      [390, 800],
      [768, 1_000],
      [1_280, 900],
    ] as const) {
      await on.setViewportSize({ width, height })
      for (const colorScheme of ['dark', 'light'] as const) {
        await on.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        // Only colours differ between the schemes.
        const options = colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {}
        const result = await on.evaluate<AxeResult>(`axe.run(document, ${JSON.stringify(options)})`)
        for (const { id, nodes } of result.violations)
          found.push(`${name} ${width} ${colorScheme} ${id}: ${nodes[0]?.html}`)
        await on.screenshot({
          path: join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`),
          fullPage: true,
        })
      }
      const shown = await on.evaluate<number>('document.documentElement.scrollWidth')
      if (shown > width) found.push(`${name} is ${shown} wide at ${width}`)
    }
    return found
  }

  const ownEndpoint = (path: string): string =>
    `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}${path}`
  const show = (path: string) => page.goto(`${service.url}${path}`)
  /** Goes on by the keyboard until something is focused. */
  async function tabTo(selector: string): Promise<void> {
    for (let steps = 0; steps < 120; steps++) {
      if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
      await page.keyboard.press('Tab')
    }
    expect.fail(`${selector} cannot be reached by the keyboard`)
  }

  test('the board is live, and open pages have no fault', async () => {
    await show('/')
    await page.waitForSelector('#live.on')
    const before = await page.textContent('#board')
    while ((await page.textContent('#board')) === before) await page.waitForTimeout(100)
    const found = await faults('board')
    const proof = await page.getAttribute('a[href^="/verify/"]', 'href')
    for (const [name, path] of [
      ['series', '/series/SIM/BTC/1m'],
      ['track-record', '/track-record'],
      ['sign-in', '/account'],
      ['not-found', '/nowhere'],
      ['verify', proof ?? '/'],
      ['docs', '/docs/quotas'],
      ['docs-index', '/docs'],
      ['board-filtered', '/?coin=BTC&timeframe=1m'],
      ['track-record-filtered', '/track-record?timeframe=1m&coin=BTC'],
      ['verify-unknown', '/verify/0190a000-0000-8000-8000-000000000002'],
    ] as const) {
      await show(path)
      found.push(...(await faults(name)))
    }
    expect(found).toEqual([])
  })

  /** Close of the oldest bar with a verdict, as pages show it; it stands on a page after the first. */
  async function firstBar(series: string): Promise<string> {
    let [after, oldest, pages] = ['', '', 0]
    do {
      const path = `/api/series/${series}?limit=10${after && `&after=${after}`}`
      const answer = (await (await fetch(`${service.url}${path}`)).json()) as SeriesHistory
      after = answer.next ?? ''
      oldest = answer.rows.at(-1)?.bar_close ?? oldest
      pages += 1
    } while (after !== '')
    expect(pages).toBeGreaterThan(1)
    return oldest.slice(0, 16).replace('T', ' ')
  }

  test('the chart of a series goes from bar to bar by keys, into the past, and on with the market', async () => {
    // The market has fewer verdicts than a page of the chart: it gets ten at a time.
    await page.route('**/api/series/**', (route) =>
      route.continue({ url: route.request().url().replace('limit=300', 'limit=10') }),
    )
    await show('/series/SIM/BTC/1m')
    await page.waitForSelector('#chart[data-drawn]')
    await page.focus('#chart')
    const at = async (pressed: string) => {
      await page.keyboard.press(pressed)
      return (await page.textContent('#chart-values')) ?? ''
    }
    const newest = await at('End')
    expect(newest).toMatch(/^[-\d]+ [:\d]+ UTC · open .* volume .*(?:BUY|SELL|HOLD) \d+ %/)
    const first = await firstBar('SIM/BTC/1m')
    while (!(await at('Home')).startsWith(first)) await page.waitForTimeout(100)
    while ((await at('End')) <= newest) await page.waitForTimeout(500)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/verify/*')
  })

  test('by keyboard alone somebody signs in, makes a webhook, and sees what its endpoint answered', async () => {
    await show('/account')
    await tabTo('#email')
    await page.keyboard.type('ada@example.com')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#code')
    let code: string | undefined
    while (code === undefined) {
      code = /([A-Z0-9]{5}-[A-Z0-9]{5}) is your sign-in code/.exec(service.log())?.[1]
      await page.waitForTimeout(50)
    }
    await tabTo('#code')
    await page.keyboard.type('WRONG-CODES')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[role=alert]')
    const found = await faults('wrong-code')
    await page.fill('#code', '')
    await tabTo('#code')
    await page.keyboard.type(code)
    await page.keyboard.press('Enter')
    await page.waitForSelector('#keys')
    await tabTo('#label')
    await page.keyboard.type(HOSTILE.slice(0, 40))
    await page.keyboard.press('Enter')
    await page.waitForSelector('[role=status]')
    key = (await page.textContent('[role=status] pre')) ?? ''
    found.push(...(await faults('account')))

    await show('/webhooks')
    found.push(...(await faults('webhooks')))
    await tabTo('a[href="/webhooks/new"]')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#url')
    await tabTo('#url')
    await page.keyboard.type(ownEndpoint('/hook'))
    found.push(...(await faults('webhook-new')))
    await tabTo('#assets')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[role=status] pre')
    await tabTo('form[action$="/test"] button')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[role=alert] pre')
    expect(await page.textContent('[role=alert] pre')).toContain('<script>')
    expect(await page.title()).toContain('Webhook')
    found.push(...(await faults('webhook')))
    const own = page.url().replace(/\/test$/, '')
    await page.goto(own)
    await tabTo('a[href$="/missed"]')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/missed')
    found.push(...(await faults('webhook-missed')))
    expect(found).toEqual([])
  })

  test('by keyboard alone somebody asks again for what was given up', async () => {
    const made = await page.request.post(`${service.url}/api/webhooks`, {
      headers: { authorization: `Bearer ${key}` },
      data: { url: ownEndpoint('/again'), events: ['regime_shift'], timeframes: ['1m'], start: '1' },
    })
    const { id } = (await made.json()) as { id: string }
    const own = `/webhooks/${id}`
    do await show(own)
    while ((await page.getByRole('cell', { name: '500', exact: true }).count()) === 0)
    await page.waitForTimeout(200)
    const found = await faults('webhook-that-fails')
    await tabTo('#since')
    await page.fill('#since', '2020-01-01T00:00')
    // The page leads back to itself: only its load tells that the form was answered.
    const answered = page.waitForEvent('load')
    await page.keyboard.press('Enter')
    await answered
    expect(page.url()).toBe(`${service.url}${own}#recover`)

    await show('/account')
    await tabTo('a[href="#endpoints"]')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('table', { name: 'Where signals are sent' }).textContent()).toContain(
      '/again',
    )
    found.push(...(await faults('account-with-endpoints')))
    await show('/webhooks?status=disabled')
    expect(await page.inputValue('#status')).toBe('disabled')
    found.push(...(await faults('webhooks-filtered')))
    expect(found).toEqual([])
  })

  test('pages that take a program to be seen have no fault', async () => {
    const frame = { market: 'simulated', version: '1.2.3', publicUrl: service.url } as const
    const client = { clientId: 'https://agent.example/client.json', name: 'Example App', redirectUris: [] }
    const request = { client, redirectUri: 'http://127.0.0.1:7777/back', scopes: ['calls'] }
    const back = 'https://agent.example/back?error=invalid_scope&error_description=There+is+no+such+scope'
    const found: string[] = []
    for (const [name, shown] of [
      ['consent', consentPage(request as unknown as AuthorizationRequest, 'ada@example.com', 'client_id=x')],
      ['consent-broken', brokenRequestPage('redirect_uri is not one of the client')],
      ['consent-back', backPage(back)],
    ] as const) {
      const body = wholePage(frame, shown)
      await page.route(`**/shown/${name}`, (route) => route.fulfill({ contentType: 'text/html', body }))
      await show(`/shown/${name}`)
      found.push(...(await faults(name)))
    }
    expect(found).toEqual([])
  })

  test('a table that is wider than a phone says so, and its caption stays in sight', async () => {
    await show('/docs/paying')
    await page.setViewportSize({ width: 390, height: 800 })
    const shadows = 'getComputedStyle(document.querySelector(".scroll")).backgroundAttachment'
    expect(await page.evaluate(shadows)).toBe('local, local, scroll, scroll')
    await show('/track-record')
    const right = `Math.max(...[...document.querySelectorAll('.scroll > table > caption')].map((one) => one.getBoundingClientRect().right))`
    expect(await page.evaluate<number>(right)).toBeLessThanOrEqual(390)
    const scrolled = `[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth && one.querySelector('caption')).map((one) => { one.scrollLeft = 60; return Math.round(one.querySelector('caption').getBoundingClientRect().left - one.getBoundingClientRect().left) })`
    const moved = await page.evaluate<number[]>(scrolled)
    expect(moved.length).toBeGreaterThan(0)
    expect(moved.filter((left) => left < 0)).toEqual([])
    await page.setViewportSize({ width: 1_280, height: 900 })
  })

  test('without scripts all of it is there', async () => {
    const plain = await browser.newContext({
      javaScriptEnabled: false,
      storageState: await context.storageState(),
    })
    const still = await plain.newPage()
    watch(still)
    await still.goto(service.url)
    expect(await still.locator('#board tbody tr').count()).toBe(6)
    await still.goto(`${service.url}/series/SIM/BTC/1m`)
    expect(await still.locator('#history tbody tr').count()).toBeGreaterThan(10)
    await still.goto(`${service.url}/webhooks/new`)
    await still.fill('#url', 'https://bot.example.com/hook')
    await still.click('form.stack button.main')
    expect(await still.inputValue('#url')).toBe('https://bot.example.com/hook')
    await plain.close()
  })

  test('nothing was asked of anybody else, and no browser complained', () => {
    expect([...asked]).toEqual([new URL(service.url).origin])
    expect(complaints).toEqual([])
  })
})
