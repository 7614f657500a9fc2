from tests.web.test_pages import AXE, go, grave_violations
def test_display(open_page):
    page=open_page("display"); page.get_by_label("Line 1").first.click(); page.get_by_role("button",name="Insert").click()
    page.get_by_role("button",name="Restore").first
    page.evaluate("location.reload()")
def test_dirty(open_page):
    page=open_page("modbus_devices"); page.evaluate(AXE); page.get_by_label("Name, reading 0").fill("A"); assert grave_violations(page,[])==[]
    page.get_by_role("button",name="Device 2").click(); assert grave_violations(page,[])==[]
