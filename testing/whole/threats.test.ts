import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { SETTINGS } from '../../services/runtime/config/settings.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/threats.md'), 'utf8')

/** Rows of the tables below a heading, as cells. */
const rowsOf = (heading: string): string[][] => {
  const [, rest = ''] = page.split(`## ${heading}\n`)
  const [section = ''] = rest.split(/^## /m)
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:threat|asset|attack) \|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}
const quoted = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')

describe('the threat model', () => {
  const threats = rowsOf('Where are the boundaries, and what holds each?')

  test('names a test for every threat, and each is there and tests something', () => {
    expect(threats.length).toBeGreaterThan(30)
    for (const [threat = '', , shown] of threats) {
      const files = quoted(shown)
      expect(files.length, threat).toBeGreaterThan(0)
      for (const file of files) {
        expect(existsSync(join(ROOT, file)), `${threat}: ${file}`).toBe(true)
        expect(file).toMatch(/\.test\.ts$/)
        expect(readFileSync(join(ROOT, file), 'utf8'), file).toMatch(
          /\b(?:test|it|Contract|WritePath)\w*\(|\btest\./,
        )
      }
    }
  })

  test('tells the bounds as they are', () => {
    const bounds = rowsOf('What does an attack cost whom?').map((cells) => cells[3] ?? '')
    const told = bounds.flatMap((cell) => [...cell.matchAll(/`(\w+)`(?: (\d+))?/g)])
    expect(told.length).toBeGreaterThan(15)
    for (const [, name = '', value] of told) {
      if (value === undefined) expect(Object.keys(SETTINGS)).toContain(name)
      else expect([name, (LIMITS as Readonly<Record<string, unknown>>)[name]]).toEqual([name, Number(value)])
    }
  })

  test('leaves nothing out of a row', () => {
    const rows = [
      ...threats,
      ...rowsOf('What is worth attacking?'),
      ...rowsOf('What does an attack cost whom?'),
    ]
    for (const cells of rows)
      expect(
        cells.every((cell) => cell !== ''),
        cells.join('|'),
      ).toBe(true)
  })
})
