import { createHash } from 'node:crypto'

/** The style of pages that stand alone: readable without images and fonts, light or dark as the reader has it. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4049); --soft: light-dark(#f4f6f8, #1d2127); --dim: light-dark(#5b6470, #9aa4b0) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } p { margin: .25rem 0 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line) }
th { font-weight: 500; color: var(--dim); white-space: nowrap; width: 1% } td, code, pre { overflow-wrap: anywhere }
code, pre { font: .85rem/1.45 ui-monospace, monospace } pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; white-space: pre-wrap }
.dim { color: var(--dim) }`

/** Admits one style element by its hash (CSP Level 3 §2.3.1), and nothing else. */
export const stylePolicy = (style: string): string =>
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
