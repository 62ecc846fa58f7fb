import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const DASHBOARD = join(ROOT, 'deploy/grafana/dashboards/signal-service.json')
const isMissing = spawnSync('promtool', ['--version']).error !== undefined

/** Output of promtool, also where it refuses. */
function promtool(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    cwd: join(ROOT, 'deploy/prometheus'),
    encoding: 'utf8',
  })
  return status === 0 ? 'accepted' : `${stdout}${stderr}`
}

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'prometheus-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, content: object): string => {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(content))
  return file
}

/** Every expression of the dashboard, with its variables as Grafana would fill them in. */
function panelExpressions(): readonly string[] {
  const found: string[] = []
  JSON.parse(readFileSync(DASHBOARD, 'utf8'), (name, value: unknown) => {
    if (name === 'expr' && typeof value === 'string') found.push(value)
    return value
  })
  return found.map((text) => text.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h'))
}

describe.skipIf(isMissing)(`Prometheus${isMissing ? ' (skipped: no promtool on PATH)' : ''}`, () => {
  test('accepts its configuration with every alert', () => {
    expect(promtool('check', 'config', 'prometheus.yml')).toBe('accepted')
  })

  test('accepts every expression of the dashboard', () => {
    const expressions = panelExpressions()
    expect(expressions.length).toBeGreaterThan(20)
    const rules = expressions.map((expr, index) => ({ record: `panel_${index}`, expr }))
    expect(promtool('check', 'rules', written('panels.json', { groups: [{ name: 'panels', rules }] }))).toBe(
      'accepted',
    )
  })
})
