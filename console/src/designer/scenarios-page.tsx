import { Page } from '../ui/page.tsx'

export default function ScenariosPage() {
  return <Page title="Designer">{null}</Page>
}
