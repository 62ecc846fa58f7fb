import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

/** A file that pages need; its name changes with what is in it, so that it can be kept for ever. */
export interface Asset {
  readonly path: string
  readonly type: string
  readonly body: Buffer
  readonly gzipped: Buffer
}

function readAsset(name: string, type: string, at = new URL(`assets/${name}`, import.meta.url)): Asset {
  const body = readFileSync(at)
  const [stem, ending] = name.split('.')
  return {
    path: `/assets/${stem}.${hash('sha256', body).slice(0, 12)}.${ending}`,
    type,
    body,
    gzipped: gzipSync(body, { level: 9 }),
  }
}

export const STYLE = readAsset('style.css', 'text/css; charset=utf-8')
export const SCRIPT = readAsset('page.mjs', 'text/javascript; charset=utf-8')
/** For the page of a verdict alone. */
export const PROOF_SCRIPT = readAsset('proof.mjs', 'text/javascript; charset=utf-8')
/** For the page of a series alone. */
export const SERIES_SCRIPT = readAsset('series.mjs', 'text/javascript; charset=utf-8')
/** All of lightweight-charts in one file, beside the one that it gives to bundlers. */
export const CHART_LIBRARY = readAsset(
  'charts.mjs',
  'text/javascript; charset=utf-8',
  new URL('lightweight-charts.standalone.production.mjs', import.meta.resolve('lightweight-charts')),
)
export const ICON = readAsset('favicon.svg', 'image/svg+xml')
export const PREVIEW = readAsset('preview.png', 'image/png')
export const ASSETS: readonly Asset[] = [
  STYLE,
  SCRIPT,
  PROOF_SCRIPT,
  SERIES_SCRIPT,
  CHART_LIBRARY,
  ICON,
  PREVIEW,
]
