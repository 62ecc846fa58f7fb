import { z } from 'zod'

/**
 * The kinds of Kubernetes that `deploy/kubernetes` uses, with the fields that it uses: every other one is refused, as a server with strict
 * validation refuses what it does not know. A field that is used from now on is added here, from the API reference.
 */
const name = z.string().regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/)
const port = z.int().min(1).max(65_535)
const portOrName = z.union([port, z.string().regex(/^[a-z][a-z0-9-]{0,14}$/)])
const labels = z.record(z.string().regex(/^(?:[a-z0-9.-]+\/)?[A-Za-z0-9._-]{1,63}$/), z.string().max(63))
const quantity = z.string().regex(/^\d+(?:\.\d+)?(?:m|Ki|Mi|Gi|k|M|G)?$/)
const selector = z.strictObject({
  matchLabels: labels.optional(),
  matchExpressions: z
    .array(
      z.strictObject({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()),
      }),
    )
    .optional(),
})
const metadata = z.strictObject({
  name,
  namespace: name.optional(),
  labels: labels.optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})
const keyed = z.record(z.string().regex(/^[-._a-zA-Z0-9]+$/), z.string())
const object = <Kind extends string, Shape extends z.ZodRawShape>(
  apiVersion: string,
  kind: Kind,
  shape: Shape,
) => z.strictObject({ apiVersion: z.literal(apiVersion), kind: z.literal(kind), metadata, ...shape })

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith('/'), port: portOrName }),
  periodSeconds: z.int().positive(),
  timeoutSeconds: z.int().positive().optional(),
  failureThreshold: z.int().positive().optional(),
})
const reference = z.strictObject({ name, optional: z.boolean().optional() })
const container = z.strictObject({
  name,
  image: z.string(),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
  envFrom: z.array(
    z.union([z.strictObject({ configMapRef: reference }), z.strictObject({ secretRef: reference })]),
  ),
  ports: z.array(z.strictObject({ name: portOrName, containerPort: port })),
  lifecycle: z.strictObject({
    preStop: z.strictObject({ exec: z.strictObject({ command: z.array(z.string()) }) }),
  }),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.strictObject({
    requests: z.strictObject({ cpu: quantity, memory: quantity }),
    limits: z.strictObject({ memory: quantity }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name, mountPath: z.string().startsWith('/') })),
})
const template = z.strictObject({
  metadata: z.strictObject({ labels, annotations: z.record(z.string(), z.string()) }),
  spec: z.strictObject({
    automountServiceAccountToken: z.literal(false),
    terminationGracePeriodSeconds: z.int().positive(),
    topologySpreadConstraints: z
      .array(
        z.strictObject({
          maxSkew: z.int().positive(),
          topologyKey: z.string(),
          whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
          labelSelector: selector,
        }),
      )
      .optional(),
    securityContext: z.strictObject({
      runAsNonRoot: z.literal(true),
      runAsUser: z.int().positive(),
      runAsGroup: z.int().positive(),
      fsGroup: z.int().positive(),
      fsGroupChangePolicy: z.enum(['OnRootMismatch', 'Always']).optional(),
      seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
    }),
    containers: z.array(container).min(1),
    volumes: z.array(z.strictObject({ name, emptyDir: z.strictObject({ sizeLimit: quantity.optional() }) })),
  }),
})

const networkPort = z.strictObject({ port: portOrName, protocol: z.enum(['TCP', 'UDP', 'SCTP']).optional() })
const peer = z.union([
  z.strictObject({
    ipBlock: z.strictObject({
      cidr: z.union([z.cidrv4(), z.cidrv6()]),
      except: z.array(z.cidrv4()).optional(),
    }),
  }),
  z.strictObject({ namespaceSelector: selector, podSelector: selector.optional() }),
  z.strictObject({ podSelector: selector }),
])
const stabilized = z.strictObject({ stabilizationWindowSeconds: z.int().min(0).max(3_600) })
const target = z.strictObject({ type: z.literal('AverageValue'), averageValue: quantity })

const MANIFEST = z.discriminatedUnion('kind', [
  z.strictObject({
    apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
    kind: z.literal('Kustomization'),
    namespace: name,
    labels: z.array(z.strictObject({ pairs: labels, includeTemplates: z.boolean() })),
    resources: z.array(z.string().endsWith('.yaml')),
    images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })),
  }),
  object('v1', 'Namespace', {}),
  object('v1', 'ConfigMap', { data: keyed }),
  object('v1', 'Secret', { type: z.literal('Opaque'), stringData: keyed }),
  object('v1', 'Service', {
    spec: z.strictObject({
      selector: labels,
      clusterIP: z.literal('None').optional(),
      publishNotReadyAddresses: z.boolean().optional(),
      ports: z.array(z.strictObject({ name: portOrName, port, targetPort: portOrName })),
    }),
  }),
  object('apps/v1', 'Deployment', {
    spec: z.strictObject({
      replicas: z.int().min(0).optional(),
      strategy: z.strictObject({
        rollingUpdate: z.strictObject({ maxUnavailable: z.int().min(0), maxSurge: z.int().min(0) }),
      }),
      selector,
      template,
    }),
  }),
  object('apps/v1', 'StatefulSet', {
    spec: z.strictObject({
      replicas: z.int().min(0),
      serviceName: name,
      selector,
      template,
      volumeClaimTemplates: z.array(
        z.strictObject({
          metadata: z.strictObject({ name }),
          spec: z.strictObject({
            accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod'])),
            resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
          }),
        }),
      ),
    }),
  }),
  object('policy/v1', 'PodDisruptionBudget', {
    spec: z.union([
      z.strictObject({ minAvailable: z.int().positive(), selector }),
      z.strictObject({ maxUnavailable: z.int().positive(), selector }),
    ]),
  }),
  object('networking.k8s.io/v1', 'NetworkPolicy', {
    spec: z.strictObject({
      podSelector: selector,
      policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
      ingress: z
        .array(z.strictObject({ from: z.array(peer).min(1), ports: z.array(networkPort).min(1) }))
        .optional(),
      egress: z
        .array(z.strictObject({ to: z.array(peer).min(1), ports: z.array(networkPort).optional() }))
        .optional(),
    }),
  }),
  object('autoscaling/v2', 'HorizontalPodAutoscaler', {
    spec: z.strictObject({
      scaleTargetRef: z.strictObject({
        apiVersion: z.literal('apps/v1'),
        kind: z.literal('Deployment'),
        name,
      }),
      minReplicas: z.int().positive(),
      maxReplicas: z.int().positive(),
      metrics: z
        .array(
          z.discriminatedUnion('type', [
            z.strictObject({
              type: z.literal('Pods'),
              pods: z.strictObject({
                metric: z.strictObject({ name: z.string().regex(/^[a-z_0-9]+$/) }),
                target,
              }),
            }),
            z.strictObject({
              type: z.literal('Resource'),
              resource: z.strictObject({ name: z.enum(['cpu', 'memory']), target }),
            }),
          ]),
        )
        .min(1),
      behavior: z.strictObject({ scaleUp: stabilized.optional(), scaleDown: stabilized.optional() }),
    }),
  }),
])
export type Manifest = z.infer<typeof MANIFEST>
export type ManifestOf<Kind extends Manifest['kind']> = Extract<Manifest, { kind: Kind }>

/** Faults of a manifest, each in a text. */
export function manifestFaults(document: unknown): string[] {
  const read = MANIFEST.safeParse(document)
  return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

/** @throws ZodError */
export const manifestOf = (document: unknown): Manifest => MANIFEST.parse(document)

const duration = z.string().regex(/^\d+(?:s|m)$/)
const service = z.strictObject({
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  image: z.string().regex(/^[a-z0-9./-]+:[\w.-]+$/, 'must name a version'),
  restart: z.enum(['unless-stopped', 'always', 'on-failure', 'no']),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  stop_grace_period: duration.optional(),
  user: z.string().optional(),
  command: z.array(z.string()).optional(),
  profiles: z.array(z.enum(['cluster', 'observability'])).optional(),
  environment: z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), z.string()).optional(),
  env_file: z.string().optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, 'is published on this machine only')).optional(),
  networks: z.array(z.string()).min(1),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(?::ro)?$/)).optional(),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.enum(['service_healthy', 'service_started']) }))
    .optional(),
  healthcheck: z.strictObject({
    test: z.array(z.string()).min(2),
    interval: duration,
    timeout: duration,
    retries: z.int().positive(),
    start_period: duration.optional(),
  }),
  deploy: z.strictObject({
    resources: z.strictObject({ limits: z.strictObject({ cpus: z.string(), memory: z.string() }) }),
  }),
})

/** The file of Docker Compose, with what the specification calls services, networks and volumes. */
export const COMPOSE = z.strictObject({
  services: z.record(name, service),
  networks: z.record(name, z.strictObject({ internal: z.boolean().optional() })),
  volumes: z.record(name, z.strictObject({ name: z.string() })),
})
