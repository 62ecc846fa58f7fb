import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** The client of deliveries, 4 MB, loaded when it is needed. Unlike an `import` it is tried again where too many files were open. */
export const loadUndici = (): typeof import('undici') => load('undici') as typeof import('undici')
