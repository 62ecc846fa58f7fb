/**
 * A process that a benchmark starts: asks for an address every few milliseconds and prints how long each answer took, as
 * a JSON list of milliseconds. Its arguments: the address, and for how many milliseconds.
 */
const [url = '', forMs = '2000'] = process.argv.slice(2)
const EVERY_MS = 5
const latencies: number[] = []
const end = performance.now() + Number(forMs)
for (let n = 0; performance.now() < end; n++) {
  const begun = performance.now()
  const response = await fetch(url)
  await response.text()
  if (!response.ok) throw new Error(`${response.status}`)
  // The first ones find nothing warm.
  if (n >= 20) latencies.push(performance.now() - begun)
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
}
process.stdout.write(JSON.stringify(latencies))
