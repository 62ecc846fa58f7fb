import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MarketKind } from '../../contracts/events/event-catalogue.ts'
import { sendPrepared } from '../http/send-public.ts'
import { ICON, PREVIEW, SCRIPT, STYLE } from './assets.ts'
import { type Content, type Html, html } from './html.ts'

/** Pages load nothing from elsewhere, and nothing that stands in them runs. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The service that a page belongs to. */
export interface PageFrame {
  readonly market: MarketKind
  readonly version: string
  /** Empty while it is not known. */
  readonly publicUrl: string
  /** Set where no mail server is configured: sign-in codes stand in the terminal of the service. */
  readonly hasNoMail?: boolean
}

export interface Page {
  readonly title: string
  /** One sentence for search engines and previews. */
  readonly description?: string
  /** The path of the place in the navigation that it belongs to. */
  readonly at?: string
  readonly body: Content
  /** Seconds after which a browser reads it again and replaces the parts that changed, those with `data-fresh`. */
  readonly refresh?: number
  /** Path of a script that it has beside that of all pages. */
  readonly script?: string
  /** Not to be found by search engines. */
  readonly isPrivate?: boolean
}

const PLACES = [
  ['/', 'Board'],
  ['/track-record', 'Track record'],
  ['/webhooks', 'Webhooks'],
  ['/account', 'Account'],
  ['/docs', 'Documentation'],
] as const

const MARKETS: Readonly<Record<MarketKind, string>> = {
  simulated: 'Simulated market: prices are made up',
  recorded: 'Recorded market: bars of the past',
  live: 'Live market',
}

const DESCRIPTION =
  'How far the prices of coins may go, and BUY, SELL or HOLD with calibrated confidence: each recorded before its outcome is known.'

/** A whole page. */
export function page(frame: PageFrame, made: Page): string {
  const { title, description = DESCRIPTION, at, body, refresh, isPrivate, script } = made
  const places = PLACES.map(
    ([path, name]) =>
      html`<li><a href="${path}"${path === at && html` aria-current="page"`}>${name}</a></li>`,
  )
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · signal-service</title>
<meta name="description" content="${description}">
${isPrivate && html`<meta name="robots" content="noindex">`}
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:image" content="${frame.publicUrl}${PREVIEW.path}">
<meta name="twitter:card" content="summary_large_image">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE.path}">
<script type="module" src="${SCRIPT.path}"></script>
${script !== undefined && html`<script type="module" src="${script}"></script>`}
</head>
<body${refresh !== undefined && html` data-refresh="${refresh}"`}>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><div>
<a class="brand" href="/">signal-service</a>
<nav aria-label="Main"><ul>${places}</ul></nav>
<span class="market">${MARKETS[frame.market]}</span>
</div></header>
<main id="main">
${body}
</main>
<footer class="foot">Information, not advice. signal-service ${frame.version} · <a href="/docs">Documentation</a> · <a href="/openapi.json">HTTP interface</a> · <a href="/docs/privacy">Privacy</a></footer>
</body>
</html>
`)
}

/** A region that scrolls sideways where the screen is narrow, and by keyboard. */
export const scrolling = (label: string, content: Content): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">${content}</div>`

/** Sends a page, which caches do not store unless the route allowed it. @param policy if it differs from other pages */
export function sendPage(
  reply: FastifyReply,
  frame: PageFrame,
  made: Page,
  policy = PAGE_POLICY,
): FastifyReply {
  reply.headers({ 'content-type': TYPE, ...headersOf(policy) })
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply.serializer(String).send(page(frame, made))
}

/** Sends a page that holds nothing of its visitor: compressed, and only where the browser does not have it already. */
export function sendPublicPage(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  return sendPrepared(request, reply.headers(headersOf(PAGE_POLICY)), TYPE, text)
}

const TYPE = 'text/html; charset=utf-8'

const headersOf = (policy: string) => ({
  'content-security-policy': policy,
  // A form sends its origin to this service, which checks it, and to nobody else.
  'referrer-policy': 'same-origin',
})
