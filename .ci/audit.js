import { spawnSync } from 'node:child_process'

// `npm run audit` reports known vulnerabilities of all packages. It includes packages for development, since those of
// the console ship in its build. It fails for "high" and "critical", but not when the registry lacks this service.

const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8' })
const report = parse(stdout)
const counts = report?.metadata?.vulnerabilities
if (!counts) {
  console.log(`npm audit is not available here: ${report?.message ?? report?.error?.summary ?? 'no answer'}`)
} else {
  const found = Object.entries(counts).filter(([level, count]) => level !== 'total' && count > 0)
  console.log(
    `npm audit: ${found.length === 0 ? 'no known vulnerabilities' : JSON.stringify(Object.fromEntries(found))}`,
  )
  for (const { name, severity, range } of Object.values(report.vulnerabilities))
    console.log(`  ${severity}: ${name} ${range}`)
  if (counts.high + counts.critical > 0) process.exit(1)
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
