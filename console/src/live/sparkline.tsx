import { number } from '../ui/words.ts'

const WIDTH = 120
const HEIGHT = 28

/** A line without axes, beside a figure that says what it is. */
export function Sparkline({ values }: { values: readonly number[] }) {
  if (values.length < 2) return null
  const top = Math.max(1, ...values)
  const points = values.map(
    (value, index) =>
      `${((index * WIDTH) / (values.length - 1)).toFixed(1)},${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
  )
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => number(Math.round(value)))
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img">
      <title>{`Between ${least} and ${most} a minute since this page was opened, for 15 minutes at most`}</title>
      <polyline points={points.join(' ')} fill="none" stroke="var(--chart-1)" strokeWidth="1.5" />
    </svg>
  )
}
