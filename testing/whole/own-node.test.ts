import { describe, expect, test } from 'vitest'
import { isRuntimeSound } from '../../services/own-node.js'

describe('a Node.js is taken', () => {
  test.each([
    // The first with the mended SQLite, and what came later.
    ['24.15.0', '3.51.3', true],
    ['24.21.0', '3.53.4', true],
    ['26.0.0', '4.0.0', true],
    ['24.16.0', '3.60', true],
    // Any Node.js whose SQLite can lose pages, the newest too.
    ['24.14.0', '3.51.2', false],
    ['24.13.1', '3.51.2', false],
    ['25.1.0', '3.50.4', false],
    ['24.99.0', '2.99.99', false],
    ['24.15.0', '3.51', false],
    // Withdrawn.
    ['25.8.0', '3.52.0', false],
    ['25.8.1', '3.52.1', true],
    ['22.99.0', '3.53.4', false],
    ['20.20.2', undefined, false],
  ])('%s with SQLite %s: %s', (node, sqlite, isTaken) => {
    expect(isRuntimeSound({ node, sqlite })).toBe(isTaken)
  })
})
