import { type Counter, Gauge, type Registry } from 'prom-client'

/** A gauge: its name, its help, the label that tells its values apart, and its values by that label. */
type GaugeRow<Source> = readonly [
  name: string,
  help: string,
  label: string,
  read: (source: Source) => Readonly<Record<string, number>>,
]

/** Gauges of one source, which is read at each scrape. While it is undefined they keep their last values. */
export function gaugesOf<Source>(
  registry: Registry,
  source: () => Source | undefined,
  rows: readonly GaugeRow<Source>[],
): void {
  for (const [name, help, label, read] of rows)
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        const found = source()
        if (found === undefined) return
        for (const [key, value] of Object.entries(read(found))) this.set({ [label]: key }, value)
      },
    })
}

/** The values of the labels, then the number. */
type Sample = readonly [...labels: string[], value: number]

/** A metric whose samples are all read at each scrape. */
export const scrapedIn =
  (registry: Registry) =>
  (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Sample> | Promise<Iterable<Sample>>,
  ): unknown =>
    new Kind({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const samples = await read()
        this.reset()
        for (const sample of samples) {
          const labels = labelNames.map((label, at) => [label, String(sample[at])] as const)
          this.inc(Object.fromEntries(labels), Number(sample.at(-1)))
        }
      },
    })
