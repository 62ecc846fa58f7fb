import { describe, expect, test } from 'vitest'
import { isRuntimeSound } from '../../services/own-node.js'

describe('a Node.js is taken', () => {
  test.each([
    ['26.10.0', '3.53.4', true],
    ['26.0.0', '3.51.3', true],
    ['27.0.0', '4.0.0', true],
    ['26.1.0', '3.60', true],
    // Any Node.js whose SQLite can lose pages.
    ['26.0.0', '3.51.2', false],
    ['26.1.0', '3.50.4', false],
    ['26.99.0', '2.99.99', false],
    ['26.0.0', '3.51', false],
    // Withdrawn.
    ['26.0.0', '3.52.0', false],
    ['26.0.0', '3.52.1', true],
    ['24.21.0', '3.53.4', false],
    ['20.20.2', undefined, false],
  ])('%s with SQLite %s: %s', (node, sqlite, isTaken) => {
    expect(isRuntimeSound({ node, sqlite })).toBe(isTaken)
  })
})
