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

/** The value of a series over the minutes of a test. */
const steady = (series: string, value: number) => ({ series, values: `${value}x90` })
const ofService = (name: string, labels: string): string =>
  `${name}{job="signal-service", instance="api:9402", ${labels}}`

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

  test.each([
    ['at nine tenths of the cap', 90, []],
    [
      'behind nine tenths of it',
      91,
      [
        {
          exp_labels: {
            severity: 'warning',
            job: 'signal-service',
            instance: 'api:9402',
          },
        },
      ],
    ],
  ])('the alert on refunds of a day, %s', (_when, transferred, alerts) => {
    const expected = alerts.map((alert) => ({ ...alert, exp_annotations: annotationsOf(transferred) }))
    const tests = {
      rule_files: [join(ROOT, 'deploy/prometheus/alerts.yml')],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: [
            steady(ofService('refunds_day_usdc', 'what="transferred"'), transferred),
            steady(ofService('refunds_day_usdc', 'what="cap"'), 100),
          ],
          alert_rule_test: [
            { eval_time: '5m', alertname: 'SignalServiceRefundCapReached', exp_alerts: expected },
          ],
        },
      ],
    }
    expect(promtool('test', 'rules', written('refunds.json', tests))).toBe('accepted')
  })
})

const annotationsOf = (transferred: number) => ({
  summary: `Refunds of today have used ${transferred} USDC of their cap`,
  description: 'Many answers were paid for and not given. Further refunds of this UTC day become credits.',
  runbook_url: 'http://signal-service:8402/docs/runbook#signalservicerefundcapreached',
})
