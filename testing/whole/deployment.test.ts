import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SETTINGS, type SettingName } from '../../services/runtime/config/settings.ts'
import { importsOf } from './imports-of.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const NAMES = Object.keys(SETTINGS) as SettingName[]
const secretNames = NAMES.filter((name) => (SETTINGS[name] as { readonly isSecret?: boolean }).isSecret)

/** Names of settings at the beginning of a line of YAML. */
const keysIn = (text: string): string[] =>
  [...text.matchAll(/^ +([A-Z][A-Z0-9_]+): ?/gm)].map((match) => match[1] ?? '')

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml')
  const block = (anchor: string): string =>
    new RegExp(`^x-${anchor}: .*\n((?: .*\n|#.*\n)*)`, 'm').exec(text)?.[1] ?? ''
  /** Settings of the image, settings of each process, and settings that make no sense in a container. */
  const OWN: readonly SettingName[] = ['HOST', 'PORT', 'DATA_DIR', 'ROLES', 'EXIT_AT_END']

  test('passes every setting through from the environment, under its own name', () => {
    const passed = keysIn(block('settings'))
    expect(passed.toSorted()).toEqual(NAMES.filter((name) => !OWN.includes(name)).toSorted())
    for (const name of passed)
      expect(block('settings')).toMatch(new RegExp(`^ +${name}: \\$\\{${name}:-[^}]*\\}$`, 'm'))
  })

  test('lets the servers of a cluster be others, too', () => {
    expect(keysIn(block('cluster'))).toEqual(['EVENTSTORE_URL', 'NATS_URL', 'REDIS_URL'])
    for (const name of keysIn(block('cluster'))) expect(block('cluster')).toContain(`\${${name}:-`)
  })

  test('gives out an address that can be opened on this machine', () => {
    expect(block('settings')).toContain(`PUBLIC_URL: \${PUBLIC_URL:-http://127.0.0.1:8402}`)
    expect(text).toContain("ports: ['127.0.0.1:8402:8402']")
  })

  test('gives each process a volume of its own', () => {
    const volumes = [...text.matchAll(/volumes: \['([a-z-]+):\/data'\]/g)].map((match) => match[1])
    expect(volumes).toHaveLength(3)
    expect(new Set(volumes).size).toBe(3)
  })

  test('has no top-level name, which older versions of docker-compose refuse', () => {
    expect(text).not.toMatch(/^name:/m)
  })
})

describe('deploy/kubernetes', () => {
  const folder = join(ROOT, 'deploy/kubernetes')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yaml'),
  )
  const textOf = (file: string): string => read(join('deploy/kubernetes', file))
  const workloads = files.filter((name) => /(deployment|statefulset)[^/]*\.yaml$/.test(name))
  const configs = files.filter((name) => name.endsWith('configmap.yaml'))

  test('hands every key of the ConfigMap and of the secret to every container', () => {
    expect(workloads).toHaveLength(4)
    for (const file of workloads) {
      expect(textOf(file)).toMatch(
        /envFrom:\n +- configMapRef:\n +name: signal-service\n(?: +#.*\n)* +- secretRef:\n +name: signal-service\n/,
      )
    }
  })

  test('the template of the secret has each secret setting, and nothing else', () => {
    const servers: readonly string[] = ['EVENTSTORE_URL', 'NATS_URL', 'REDIS_URL']
    const template = textOf('secret.template.yaml')
    expect(keysIn(template).toSorted()).toEqual(
      secretNames.filter((name) => !servers.includes(name)).toSorted(),
    )
    for (const name of servers) expect(template).toContain(name)
  })

  test.each(configs)(
    '%s says where callers reach it and whose addresses are believed, and holds no secret',
    (file) => {
      const servers: readonly string[] = ['EVENTSTORE_URL', 'NATS_URL', 'REDIS_URL']
      const keys = keysIn(textOf(file))
      expect(keys).toEqual(expect.arrayContaining(['PUBLIC_URL', 'TRUST_PROXY']))
      expect(keys.filter((key) => !NAMES.includes(key as SettingName))).toEqual([])
      expect(
        keys.filter((key) => secretNames.includes(key as SettingName) && !servers.includes(key)),
      ).toEqual([])
    },
  )

  test.each(workloads)('%s waits before it stops, and has the time to', (file) => {
    const text = textOf(file)
    const waitS = Number(/preStop:\n +exec:\n +command: \[sleep, '(\d+)'\]/.exec(text)?.[1])
    const graceS = Number(/terminationGracePeriodSeconds: (\d+)/.exec(text)?.[1])
    expect(waitS).toBeGreaterThan(0)
    expect(graceS).toBeGreaterThan(waitS + 10)
  })

  test.each(files.filter((name) => name.endsWith('networkpolicy.yaml')))(
    '%s lets mail, nodes and names through',
    (file) => {
      const text = textOf(file)
      for (const port of [53, 443, 8443, 25, 465, 587, 8545])
        expect(text).toMatch(new RegExp(`port: ${port}\\b`))
      expect(text).toContain("signal-service/server: 'true'")
      expect(text).toContain('cidr: 169.254.20.10/32')
    },
  )

  test('the StatefulSet is named by a headless Service', () => {
    const name = /serviceName: (\S+)/.exec(textOf('single-node/statefulset.yaml'))?.[1] ?? ''
    const services = textOf('single-node/service.yaml').split(/^---$/m)
    expect(services.find((service) => service.includes(`name: ${name}\n`))).toContain('clusterIP: None')
  })
})

describe('the image', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const excluded = lines.filter((line) => line !== '*' && !line.startsWith('!'))
  const isExcluded = (file: string): boolean =>
    excluded.some((pattern) => matchesGlob(file, pattern) || matchesGlob(file, `${pattern}/**`))

  /** Every file that the service and its command line import, directly or through others. */
  function needed(): ReadonlySet<string> {
    const found = new Set<string>()
    const visit = (file: string): void => {
      // Text that is written elsewhere may look like an import.
      if (found.has(file) || !existsSync(join(ROOT, file))) return
      found.add(file)
      if (!/\.(?:ts|js)$/.test(file)) return
      const text = read(file)
      // Threads and files beside the code are named by their place.
      const placed = [...text.matchAll(/new URL\('([^']+)', import\.meta\.url\)/g)].map(
        (match) => match[1] ?? '',
      )
      for (const specifier of [...importsOf(text), ...placed]) {
        if (specifier.startsWith('.')) visit(relative(ROOT, resolve(ROOT, dirname(file), specifier)))
      }
    }
    for (const file of ['start.js', 'signal.js']) visit(`services/${file}`)
    return found
  }

  test('is built from nothing that is not sent to the builder', () => {
    const sent = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, sources = '']) => sources.split(' '),
    )
    expect(copied.length).toBeGreaterThan(0)
    expect(copied.filter((source) => !sent.includes(source) || isExcluded(source))).toEqual([])
  })

  test('holds what the service and the command line import, and of the code nothing else', () => {
    const wanted = needed()
    expect([...wanted].filter(isExcluded)).toEqual([])
    const present = ['contracts', 'projections', 'services']
      .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
    const idle = present.filter((file) => /\.(?:ts|js)$/.test(file) && !isExcluded(file) && !wanted.has(file))
    expect(idle, 'import it, or name it in .dockerignore').toEqual([])
  })
})
