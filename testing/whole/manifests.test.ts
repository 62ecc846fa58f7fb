import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS, type SettingName } from '../../services/runtime/config/settings.ts'
import {
  COMPOSE,
  type Manifest,
  type ManifestOf,
  manifestFaults,
  manifestOf,
} from './manifest-schemas.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const FOLDER = 'deploy/kubernetes'
const files = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.yaml'),
)

/** Documents of a file; a key that comes twice, or anything else that is no YAML, is refused. */
function documentsOf(file: string): unknown[] {
  return parseAllDocuments(read(join(FOLDER, file)), { strict: true, uniqueKeys: true }).map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw new Error(`${file}: ${error.message}`)
    return document.toJS() as unknown
  })
}
const inFolder = (folder: string): Manifest[] =>
  files.filter((file) => file.startsWith(`${folder}/`)).flatMap((file) => documentsOf(file).map(manifestOf))
const ofKind = <Kind extends Manifest['kind']>(folder: string, kind: Kind): ManifestOf<Kind>[] =>
  inFolder(folder).filter((manifest): manifest is ManifestOf<Kind> => manifest.kind === kind)
const workloadsOf = (folder: string) => [...ofKind(folder, 'Deployment'), ...ofKind(folder, 'StatefulSet')]
const labelsOf = ({ spec }: ReturnType<typeof workloadsOf>[number]) => spec.template.metadata.labels
const isSecret = (name: string): boolean =>
  name in SETTINGS && (SETTINGS[name as SettingName] as { readonly isSecret?: boolean }).isSecret === true

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly values: readonly string[] }[]
    | undefined
}
const selects = (
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>>,
): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))

describe.each(files)('deploy/kubernetes/%s', (file) => {
  test('is of its schema, and of nothing else', () => {
    const documents = documentsOf(file)
    expect(documents.length).toBeGreaterThan(0)
    expect(documents.flatMap(manifestFaults)).toEqual([])
  })
})

test('a field where it does not belong is a fault', () => {
  const [config] = documentsOf('cluster/configmap.yaml') as [{ metadata: object }]
  const moved = { ...config, metadata: { ...config.metadata, HEALTH_PORT: '9402' } }
  expect(manifestFaults(moved)).toEqual([expect.stringContaining('HEALTH_PORT')])
  expect(manifestFaults({ ...config, kind: 'ConfigMaps' })).toHaveLength(1)
})

describe.each(['cluster', 'single-node'])('%s', (folder) => {
  test('applies each of its files, and no other', () => {
    const [kustomization] = ofKind(folder, 'Kustomization')
    const others = files.filter(
      (file) => file.startsWith(`${folder}/`) && !file.endsWith('kustomization.yaml'),
    )
    expect(kustomization?.resources.toSorted()).toEqual(
      others.map((file) => file.slice(folder.length + 1)).toSorted(),
    )
  })

  test('starts roles together that make up the whole service', () => {
    const roles = workloadsOf(folder).flatMap(({ spec }) => {
      const value = spec.template.spec.containers[0]?.env?.find(({ name }) => name === 'ROLES')?.value
      return value?.split(',') ?? ['api', 'engine', 'projector', 'dispatcher', 'settler']
    })
    expect([...new Set(roles)].toSorted()).toEqual(['api', 'dispatcher', 'engine', 'projector', 'settler'])
  })

  test('holds every secret by reference alone', () => {
    for (const { spec } of workloadsOf(folder)) {
      const [container] = spec.template.spec.containers
      expect(container?.envFrom.filter((from) => 'secretRef' in from)).toHaveLength(1)
      expect(container?.env?.filter(({ name }) => isSecret(name)) ?? []).toEqual([])
    }
    const servers = ['EVENTSTORE_URL', 'NATS_URL', 'REDIS_URL']
    for (const { data } of ofKind(folder, 'ConfigMap')) {
      for (const [name, value] of Object.entries(data)) {
        if (!isSecret(name)) continue
        // An address without a credential is none.
        expect(servers).toContain(name)
        expect(value).not.toMatch(/\/\/[^/]*@/)
      }
    }
  })

  test('asks health where it is served, and leads callers to whoever answers them', () => {
    const config = ofKind(folder, 'ConfigMap')[0]?.data
    for (const workload of workloadsOf(folder)) {
      const [container] = workload.spec.template.spec.containers
      const ports = Object.fromEntries(
        container?.ports.map(({ name, containerPort }) => [name, containerPort]) ?? [],
      )
      expect(String(ports.health)).toBe(config?.HEALTH_PORT)
      expect(config?.HEALTH_HOST).toBe('0.0.0.0')
      expect(workload.spec.template.metadata.annotations['prometheus.io/port']).toBe(config?.HEALTH_PORT)
      const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]
      expect(probes.map((probe) => probe?.httpGet.path)).toEqual(['/livez', '/livez', '/readyz'])
      expect(probes.every((probe) => Object.hasOwn(ports, probe?.httpGet.port ?? ''))).toBe(true)
    }
    for (const { spec } of ofKind(folder, 'Service')) {
      const led = workloadsOf(folder).filter((workload) =>
        selects({ matchLabels: spec.selector }, labelsOf(workload)),
      )
      expect(led).toHaveLength(1)
    }
  })
})

describe('budgets and autoscaling of the cluster', () => {
  const workloads = workloadsOf('cluster')

  test('are of workloads that there are, and keep more than one pod of each', () => {
    for (const { spec } of ofKind('cluster', 'PodDisruptionBudget'))
      expect(workloads.filter((workload) => selects(spec.selector, labelsOf(workload)))).toHaveLength(1)
    for (const { spec } of ofKind('cluster', 'HorizontalPodAutoscaler')) {
      const scaled = workloads.find(({ metadata }) => metadata.name === spec.scaleTargetRef.name)
      // A number there would be set again with each apply.
      expect(scaled?.spec.replicas).toBeUndefined()
      expect(spec.minReplicas).toBeGreaterThan(1)
      expect(spec.maxReplicas).toBeGreaterThan(spec.minReplicas)
    }
    const unscaled = workloads.filter(({ spec }) => spec.replicas !== undefined)
    expect(unscaled.map(({ metadata }) => metadata.name)).toEqual(['signal-service-engine'])
  })

  test('go by metrics that the adapter hands over, and that alerts or dashboards know', () => {
    const rules = parse(read('deploy/prometheus/adapter-rules.yml')) as {
      readonly rules: { readonly custom: readonly { readonly seriesQuery: string }[] }
    }
    const handed = rules.rules.custom.map(({ seriesQuery }) => seriesQuery.replace(/\{.*/, ''))
    const asked = ofKind('cluster', 'HorizontalPodAutoscaler').flatMap(({ spec }) =>
      spec.metrics.flatMap((metric) => (metric.type === 'Pods' ? [metric.pods.metric.name] : [])),
    )
    expect(asked.toSorted()).toEqual(handed.toSorted())
    // Those are held against a running service (observed.int.test.ts), and so are these through them.
    const known = read('deploy/prometheus/alerts.yml') + read('deploy/grafana/dashboards/signal-service.json')
    for (const name of asked) expect(known).toContain(`${name}{`)
  })
})

describe('network policies', () => {
  type Policy = ManifestOf<'NetworkPolicy'>
  type Peer = NonNullable<Policy['spec']['egress']>[number]['to'][number]
  /** As the table of the guide writes it. */
  const peerName = (peer: Peer): string => {
    if ('ipBlock' in peer) return peer.ipBlock.cidr
    if (!('namespaceSelector' in peer)) return 'pods beside it'
    const { 'kubernetes.io/metadata.name': called, ...others } = peer.namespaceSelector.matchLabels ?? {}
    return (
      called ??
      Object.entries(others)
        .map(([key, value]) => `${key}=${value}`)
        .join()
    )
  }
  /** Each way that is open: peer, port, and for whom. */
  const waysOf = (folder: string, direction: 'in' | 'out'): string[] =>
    ofKind(folder, 'NetworkPolicy').flatMap(({ spec }) => {
      const rules =
        direction === 'out'
          ? (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
          : (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
      return rules.flatMap(({ peers, ports }) =>
        peers.flatMap((peer) =>
          [...new Set(ports?.map((one) => String(one.port)) ?? ['any'])].map(
            (one) => `${peerName(peer)} ${one}`,
          ),
        ),
      )
    })

  /** Rows of the guide: names in the first cell, ports in the second, folders in the third. */
  const told = (direction: 'in' | 'out', folder: string): string[] => {
    const heading = direction === 'out' ? '| to |' : '| from |'
    const [, rest = ''] = read('docs/running.md').split(heading)
    const rows = rest.split('\n').slice(
      2,
      rest.split('\n').findIndex((line) => line === ''),
    )
    return rows.flatMap((row) => {
      const [names = '', ports = '', where = ''] = row
        .split('|')
        .slice(1)
        .map((cell) => cell.trim())
      if (where.includes('cluster alone') && folder !== 'cluster') return []
      const peers = [...names.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')
      return peers.flatMap((name) => ports.split(', ').map((one) => `${name} ${one}`))
    })
  }

  test.each(['cluster', 'single-node'])(
    'of %s let through what the guide says, and nothing else',
    (folder) => {
      expect(waysOf(folder, 'out').toSorted()).toEqual(told('out', folder).toSorted())
      expect(waysOf(folder, 'in').toSorted()).toEqual(told('in', folder).toSorted())
    },
  )

  test.each(['cluster', 'single-node'])(
    'of %s are of every pod, in both directions, and name its ports',
    (folder) => {
      const policies = ofKind(folder, 'NetworkPolicy')
      for (const workload of workloadsOf(folder)) {
        const own = policies.filter(({ spec }) => selects(spec.podSelector, labelsOf(workload)))
        expect([...new Set(own.flatMap(({ spec }) => spec.policyTypes))].toSorted()).toEqual([
          'Egress',
          'Ingress',
        ])
        const ports = new Set(workload.spec.template.spec.containers[0]?.ports.map(({ name }) => name))
        const named = own.flatMap(({ spec }) =>
          (spec.ingress ?? []).flatMap((rule) => rule.ports.map((one) => one.port)),
        )
        expect(named.filter((name) => !ports.has(String(name)))).toEqual([])
      }
    },
  )

  test('let callers reach pods alone that a Service leads to', () => {
    const open = ofKind('cluster', 'NetworkPolicy').filter(({ spec }) =>
      spec.ingress?.some(({ ports }) => ports.some(({ port }) => port === 'http')),
    )
    const reached = workloadsOf('cluster').filter((workload) =>
      open.some(({ spec }) => selects(spec.podSelector, labelsOf(workload))),
    )
    expect(reached.map(({ metadata }) => metadata.name)).toEqual(['signal-service-api'])
  })
})

describe('docker-compose.yml', () => {
  const file = parse(read('docker-compose.yml'), { merge: true, strict: true, uniqueKeys: true }) as Record<
    string,
    unknown
  >
  const known = Object.fromEntries(Object.entries(file).filter(([name]) => !name.startsWith('x-')))

  test('is of the specification, with images of a version and ports of this machine', () => {
    const found = COMPOSE.safeParse(known)
    expect(found.error?.issues ?? []).toEqual([])
  })

  test('names networks, volumes and services that are there, and leaves none unused', () => {
    const { services, networks, volumes } = COMPOSE.parse(known)
    const all = Object.values(services)
    const used = all.flatMap((service) => service.volumes ?? []).map((text) => text.split(':')[0] ?? '')
    expect([...new Set(used.filter((name) => !name.startsWith('.')))].toSorted()).toEqual(
      Object.keys(volumes).toSorted(),
    )
    expect([...new Set(all.flatMap((service) => service.networks))].toSorted()).toEqual(
      Object.keys(networks).toSorted(),
    )
    for (const name of all.flatMap((service) => Object.keys(service.depends_on ?? {})))
      expect(services).toHaveProperty(name)
  })

  test('asks for health by arguments without blanks, at which Podman 4 parts them', () => {
    const checks = Object.entries(COMPOSE.parse(known).services).flatMap(([name, { healthcheck }]) =>
      healthcheck.test[0] === 'CMD' ? [{ name, test: healthcheck.test }] : [],
    )
    expect(checks.map(({ name }) => name)).toEqual(['service', 'api', 'engine', 'redis'])
    expect(checks.filter(({ test: parts }) => parts.some((part) => /\s/.test(part)))).toEqual([])
  })

  test('hands every secret through by its name alone', () => {
    const given = Object.values(COMPOSE.parse(known).services).flatMap(({ environment = {} }) =>
      Object.entries(environment),
    )
    const secrets = given.filter(([name]) => isSecret(name))
    expect(secrets.length).toBeGreaterThan(30)
    expect(secrets.filter(([name, value]) => !new RegExp(`^\\$\\{${name}:-[^@]*\\}$`).test(value))).toEqual(
      [],
    )
  })
})
