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

function readAsset(name: string, type: string): Asset {
  const body = readFileSync(new URL(`assets/${name}`, import.meta.url))
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
export const ICON = readAsset('favicon.svg', 'image/svg+xml')
export const PREVIEW = readAsset('preview.png', 'image/png')
export const ASSETS: readonly Asset[] = [STYLE, SCRIPT, PROOF_SCRIPT, ICON, PREVIEW]
